/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.http;

/** What went over the wire for one fetch. The bytes are empty unless recording was asked for. */
public final class Exchange {
    private final byte[] request;
    private final byte[] response;
    private final String peer;
    private final long wireBytes;

    Exchange(byte[] request, byte[] response, String peer, long wireBytes) {
        this.request = request;
        this.response = response;
        this.peer = peer;
        this.wireBytes = wireBytes;
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

    /** Bytes received. */
    public long wireBytes() {
        return wireBytes;
    }
}
