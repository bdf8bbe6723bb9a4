// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.net.ssl.SSLContext;

/**
 * An HTTP server on the JDK's TLS sockets, which answers one request per connection with its
 * body. Each connection has a thread, which waits without a timeout.
 *
 * Rejected: com.sun.net.httpserver, which has broken off handshakes on slow machines.
 */
final class Echo implements Closeable {
	private static final String END = "\r\n\r\n";
	private static final String LENGTH = "\r\ncontent-length: ";

	private final ServerSocket server;
	private final ExecutorService threads = Executors.newCachedThreadPool(r -> {
		Thread t = new Thread(r, "echo");
		t.setDaemon(true);
		return t;
	});

	Echo(SSLContext c) throws IOException {
		server = c.getServerSocketFactory().createServerSocket(0, 100,
			InetAddress.getLoopbackAddress());
		threads.execute(this::accept);
	}

	int port() {
		return server.getLocalPort();
	}

	@Override
	public void close() throws IOException {
		server.close();
		threads.shutdownNow();
	}

	private void accept() {
		while (!server.isClosed()) {
			try {
				Socket s = server.accept();
				threads.execute(() -> answer(s));
			} catch (IOException e) {
				// The server was closed.
			}
		}
	}

	private static void answer(Socket socket) {
		try (Socket s = socket) {
			InputStream in = new BufferedInputStream(s.getInputStream());
			byte[] b = in.readNBytes(length(in));
			OutputStream out = s.getOutputStream();
			out.write(("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + b.length
				+ END).getBytes(StandardCharsets.US_ASCII));
			out.write(b);
		} catch (IOException e) {
			// The client does not trust the server.
		}
	}

	/** Returns the length of the body that follows. */
	private static int length(InputStream in) throws IOException {
		StringBuilder b = new StringBuilder();
		while (b.indexOf(END) < 0) {
			int c = in.read();
			if (c < 0)
				throw new IOException("the client closed in the middle of a request");
			b.append((char) c);
		}
		String head = b.toString().toLowerCase(java.util.Locale.ROOT);
		int at = head.indexOf(LENGTH);
		return at < 0 ? 0 : Integer.parseInt(head.substring(at + LENGTH.length(),
			head.indexOf('\r', at + 2)));
	}
}
