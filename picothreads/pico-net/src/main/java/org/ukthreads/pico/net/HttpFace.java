// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.net.URL;

/** What HttpCall needs to know of its HttpURLConnection beyond the public getters. */
interface HttpFace {
	HttpCall call();

	/** -1: not set. */
	long fixedLength();

	/** -1: not set. */
	int chunkLength();

	void connected();

	void moved(URL to, String method);

	/** Reports the connection of the next exchange. */
	void opened(java.net.Socket s);

	/** Returns the socket, wrapped in TLS if the scheme needs it. */
	java.net.Socket secured(java.net.Socket plain, String host, int port)
		throws java.io.IOException;

	/** Returns what two calls must have in common in TLS to share a connection. */
	java.util.List<Object> secrets();
}
