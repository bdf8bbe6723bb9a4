/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.http;

/**
 * The bytes of one fetch, as sent and received. Those of the response are empty unless recording
 * was asked for.
 */
public final class Exchange {
	private final byte[] request;
	private final byte[] response;
	private final String peer;
	private final long wireBytes;

	private final boolean whole;

	Exchange(byte[] request, byte[] response, String peer, long wireBytes, boolean whole) {
		this.request = request;
		this.response = response;
		this.peer = peer;
		this.wireBytes = wireBytes;
		this.whole = whole;
	}

	public byte[] request() {
		return request;
	}

	public byte[] response() {
		return response;
	}

	/** The server's IP address. */
	public String peer() {
		return peer;
	}

	/** True if the answer was read to its end, and not only up to the size limit. */
	public boolean whole() {
		return whole;
	}

	/** Returns the number of bytes received. */
	public long wireBytes() {
		return wireBytes;
	}
}
