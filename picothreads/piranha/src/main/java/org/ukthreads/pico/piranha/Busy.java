/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import org.ukthreads.pico.piranha.http.HttpResponse;

/**
 * What to do about 429 and 503: how long the server wants to be left alone (Retry-After, in
 * seconds or as a date; where it says nothing, a second, and twice as long each time), and
 * when to give up. Values; any thread.
 */
final class Busy {
	private static final long FIRST_MILLIS = 1_000;

	private final int times;
	private final long longestMillis;

	/** So many further attempts; a longer wait than that is not waited. */
	Busy(int times, long longestMillis) {
		this.times = times;
		this.longestMillis = longestMillis;
	}

	static boolean is(HttpResponse response) {
		return response.status() == 429 || response.status() == 503;
	}

	/** Milliseconds until the next attempt, at least 0; negative: there will be none. */
	long pause(HttpResponse response, int attempt) {
		long millis = asked(response.header("retry-after"), Instant.now());
		if (millis < 0) {
			millis = Math.min(FIRST_MILLIS << Math.min(attempt, 20), longestMillis);
		}
		return attempt >= times || millis > longestMillis ? -1 : millis;
	}

	/** Of a Retry-After header; negative: there is none, or it cannot be read. */
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
