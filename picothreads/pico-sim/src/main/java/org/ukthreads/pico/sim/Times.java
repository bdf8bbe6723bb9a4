// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.MonthDay;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.Year;
import java.time.YearMonth;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.Calendar;
import java.util.Locale;
import java.util.TimeZone;
import org.ukthreads.pico.Threads;

/** Replaces the calls for the time of day in a simulated program. */
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

	public static Year year() {
		return Year.now(systemDefaultZone());
	}

	public static Year year(ZoneId z) {
		return Year.now(new Simulated(z));
	}

	public static Year year(Clock c) {
		return Year.now(c);
	}

	public static YearMonth yearMonth() {
		return YearMonth.now(systemDefaultZone());
	}

	public static YearMonth yearMonth(ZoneId z) {
		return YearMonth.now(new Simulated(z));
	}

	public static YearMonth yearMonth(Clock c) {
		return YearMonth.now(c);
	}

	public static MonthDay monthDay() {
		return MonthDay.now(systemDefaultZone());
	}

	public static MonthDay monthDay(ZoneId z) {
		return MonthDay.now(new Simulated(z));
	}

	public static MonthDay monthDay(Clock c) {
		return MonthDay.now(c);
	}

	public static OffsetTime offsetTime() {
		return OffsetTime.now(systemDefaultZone());
	}

	public static OffsetTime offsetTime(ZoneId z) {
		return OffsetTime.now(new Simulated(z));
	}

	public static OffsetTime offsetTime(Clock c) {
		return OffsetTime.now(c);
	}

	public static Clock system(ZoneId z) {
		return new Simulated(z);
	}

	/** Since Java 9. */
	public static Clock tickMillis(ZoneId z) {
		return Clock.tick(new Simulated(z), Duration.ofMillis(1));
	}

	public static Clock tickSeconds(ZoneId z) {
		return Clock.tick(new Simulated(z), Duration.ofSeconds(1));
	}

	public static Clock tickMinutes(ZoneId z) {
		return Clock.tick(new Simulated(z), Duration.ofMinutes(1));
	}

	private static Calendar now(Calendar c) {
		c.setTimeInMillis(Threads.currentTimeMillis());
		return c;
	}

	public static Calendar calendar() {
		return now(Calendar.getInstance());
	}

	public static Calendar calendar(TimeZone z) {
		return now(Calendar.getInstance(z));
	}

	public static Calendar calendar(Locale l) {
		return now(Calendar.getInstance(l));
	}

	public static Calendar calendar(TimeZone z, Locale l) {
		return now(Calendar.getInstance(z, l));
	}
}
