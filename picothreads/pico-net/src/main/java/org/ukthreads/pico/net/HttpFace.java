// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.net.URL;

/** What a call must know of its HttpURLConnection beyond the public getters. */
interface HttpFace {
	HttpCall call();

	/** -1: not set. */
	long fixedLength();

	/** -1: not set. */
	int chunkLength();

	void connected();

	void moved(URL to, String method);

	/** The connection of the next exchange. */
	void opened(java.net.Socket s);

	/** The socket, with TLS on top where the scheme wants it. */
	java.net.Socket secured(java.net.Socket plain, String host, int port)
		throws java.io.IOException;

	/** What of TLS two calls must have in common to share a connection. */
	java.util.List<Object> secrets();
}
