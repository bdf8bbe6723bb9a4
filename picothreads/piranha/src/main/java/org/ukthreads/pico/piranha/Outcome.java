/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

/** The result of the visit of a URL. */
enum Outcome {
	PAGE("page", "read, and its links followed"),
	OTHER("other", "read, but of a type that has no links"),
	TRUNCATED("truncated", "longer than the size limit: truncated, and its links followed"),
	REDIRECT("redirect", "redirects to another URL"),
	REDIRECT_LIMIT("redirect-limit", "a redirect beyond the limit"),
	HTTP_ERROR("http-error", "status 4xx or 5xx"),
	DAMAGED("damaged", "its compressed body is broken: the links of the readable part followed"),
	ROBOTS("robots", "forbidden by robots.txt"),
	TIMEOUT("timeout", "no answer in time"),
	FAILED("failed", "no connection, or a broken answer"),
	BROKEN("broken", "an error inside the crawler: see the log"),
	LEASE_LOST("lease-lost", "left to another crawler, because the lease was about to end");

	private final String label;
	private final String meaning;

	Outcome(String label, String meaning) {
		this.label = label;
		this.meaning = meaning;
	}

	/** True if the summary gives an example of it. */
	boolean trouble() {
		return this == HTTP_ERROR || this == DAMAGED || this == REDIRECT_LIMIT || this == TIMEOUT || this == FAILED
				|| this == BROKEN;
	}

	String label() {
		return label;
	}

	String meaning() {
		return meaning;
	}
}
