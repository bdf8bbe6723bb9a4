package org.ukthreads.pico.sim;

import java.time.Clock;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import org.ukthreads.pico.Threads;

/** What calls for the time of day become in a simulated program. */
public final class Times {
	private Times() {}

	private static final class Simulated extends Clock {
		private final ZoneId zone;

		Simulated(ZoneId zone) {
			this.zone = zone;
		}

		@Override
		public ZoneId getZone() {
			return zone;
		}

		@Override
		public Clock withZone(ZoneId z) {
			return new Simulated(z);
		}

		@Override
		public Instant instant() {
			return Instant.ofEpochMilli(Threads.currentTimeMillis());
		}
	}

	public static Clock systemUTC() {
		return new Simulated(ZoneOffset.UTC);
	}

	public static Clock systemDefaultZone() {
		return new Simulated(ZoneId.systemDefault());
	}

	public static Instant instant() {
		return systemUTC().instant();
	}

	public static Instant instant(Clock c) {
		return c.instant();
	}

	public static LocalDate localDate() {
		return LocalDate.now(systemDefaultZone());
	}

	public static LocalDate localDate(ZoneId z) {
		return LocalDate.now(new Simulated(z));
	}

	public static LocalDate localDate(Clock c) {
		return LocalDate.now(c);
	}

	public static LocalTime localTime() {
		return LocalTime.now(systemDefaultZone());
	}

	public static LocalTime localTime(ZoneId z) {
		return LocalTime.now(new Simulated(z));
	}

	public static LocalTime localTime(Clock c) {
		return LocalTime.now(c);
	}

	public static LocalDateTime localDateTime() {
		return LocalDateTime.now(systemDefaultZone());
	}

	public static LocalDateTime localDateTime(ZoneId z) {
		return LocalDateTime.now(new Simulated(z));
	}

	public static LocalDateTime localDateTime(Clock c) {
		return LocalDateTime.now(c);
	}

	public static ZonedDateTime zonedDateTime() {
		return ZonedDateTime.now(systemDefaultZone());
	}

	public static ZonedDateTime zonedDateTime(ZoneId z) {
		return ZonedDateTime.now(new Simulated(z));
	}

	public static ZonedDateTime zonedDateTime(Clock c) {
		return ZonedDateTime.now(c);
	}

	public static OffsetDateTime offsetDateTime() {
		return OffsetDateTime.now(systemDefaultZone());
	}

	public static OffsetDateTime offsetDateTime(ZoneId z) {
		return OffsetDateTime.now(new Simulated(z));
	}

	public static OffsetDateTime offsetDateTime(Clock c) {
		return OffsetDateTime.now(c);
	}
}
