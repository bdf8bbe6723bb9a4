/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.http;

/** The limits of one fetch: times in milliseconds, the size in bytes. */
public final class HttpLimits {
	final int connectMillis;
	final int readMillis;
	final int totalMillis;
	final int maxBytes;

	public HttpLimits(int connectMillis, int readMillis, int totalMillis, int maxBytes) {
		this.connectMillis = connectMillis;
		this.readMillis = readMillis;
		this.totalMillis = totalMillis;
		this.maxBytes = maxBytes;
	}

	public int totalMillis() {
		return totalMillis;
	}
}
