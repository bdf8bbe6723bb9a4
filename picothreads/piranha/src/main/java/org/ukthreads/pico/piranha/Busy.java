/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import org.ukthreads.pico.piranha.http.HttpResponse;

/**
 * Decides what to do about 429 and 503: how long to leave the server alone, and when to give up.
 * The time is that of Retry-After, in seconds or as a date; without it a second, and twice as
 * long each time. Immutable.
 */
final class Busy {
	private static final long FIRST_MILLIS = 1_000;

	private final int times;
	private final long longestMillis;

	/**
	 * times: the most further attempts. If the server asks for more than longestMillis, none
	 * follows.
	 */
	Busy(int times, long longestMillis) {
		this.times = times;
		this.longestMillis = longestMillis;
	}

	static boolean is(HttpResponse response) {
		return response.status() == 429 || response.status() == 503;
	}

	/** Returns the milliseconds until the next attempt; negative: there will be none. */
	long pause(HttpResponse response, int attempt) {
		long millis = asked(response.header("retry-after"), Instant.now());
		if (millis < 0) {
			millis = Math.min(FIRST_MILLIS << Math.min(attempt, 20), longestMillis);
		}
		return attempt >= times || millis > longestMillis ? -1 : millis;
	}

	/**
	 * Returns the milliseconds that a Retry-After header asks for; negative: none, or not
	 * readable.
	 */
	static long asked(String header, Instant now) {
		if (header.matches("[0-9]{1,9}")) {
			return Long.parseLong(header) * 1000;
		}
		try {
			Instant then = ZonedDateTime.parse(header, DateTimeFormatter.RFC_1123_DATE_TIME)
					.toInstant();
			return Math.max(0, then.toEpochMilli() - now.toEpochMilli());
		} catch (DateTimeException e) {
			return -1;
		}
	}
}
