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
 * The JDK's TLS sockets as a server of HTTP that answers one request of each connection with its
 * body. A thread for each connection waits for as long as it takes.
 *
 * Rejected: com.sun.net.httpserver's, which has ended handshakes where a machine was slow.
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
				// The end.
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
			// A client that does not trust us.
		}
	}

	/** Of the body that follows. */
	private static int length(InputStream in) throws IOException {
		StringBuilder b = new StringBuilder();
		while (b.indexOf(END) < 0) {
			int c = in.read();
			if (c < 0)
				throw new IOException("ended in the middle of a request");
			b.append((char) c);
		}
		String head = b.toString().toLowerCase(java.util.Locale.ROOT);
		int at = head.indexOf(LENGTH);
		return at < 0 ? 0 : Integer.parseInt(head.substring(at + LENGTH.length(),
			head.indexOf('\r', at + 2)));
	}
}
