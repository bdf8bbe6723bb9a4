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

	// = Times: now; LocalDate > LocalTime; localDate > localTime

	// = Times: now; LocalDate > LocalDateTime; localDate > localDateTime

	// = Times: now; LocalDate > ZonedDateTime; localDate > zonedDateTime

	// = Times: now; LocalDate > OffsetDateTime; localDate > offsetDateTime

	// = Times: now; LocalDate > OffsetTime; localDate > offsetTime

	// = Times: now; LocalDate > Year; localDate > year

	// = Times: now; LocalDate > YearMonth; localDate > yearMonth

	// = Times: now; LocalDate > MonthDay; localDate > monthDay

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

	/* --- now --- */

	public static LocalDate localDate() {
		return LocalDate.now(systemDefaultZone());
	}

	public static LocalDate localDate(ZoneId z) {
		return LocalDate.now(new Simulated(z));
	}

	public static LocalDate localDate(Clock c) {
		return LocalDate.now(c);
	}
}
