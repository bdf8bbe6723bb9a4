// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import javax.net.ServerSocketFactory;
import javax.net.SocketFactory;

/** The default socket factories, which make our sockets. */
public final class Factories {
	private static final SocketFactory SOCKETS = new Sockets();
	private static final ServerSocketFactory SERVERS = new Servers();

	private Factories() {}

	/** Replaces SocketFactory.getDefault. */
	public static SocketFactory getDefault() {
		return SOCKETS;
	}

	/** Replaces ServerSocketFactory.getDefault. */
	public static ServerSocketFactory getDefaultServer() {
		return SERVERS;
	}

	private static final class Sockets extends SocketFactory {
		@Override
		public Socket createSocket() {
			return new PicoSocket();
		}

		@Override
		public Socket createSocket(String host, int port) throws IOException {
			return new PicoSocket(host, port);
		}

		@Override
		public Socket createSocket(String host, int port, InetAddress local, int localPort)
				throws IOException {
			return new PicoSocket(host, port, local, localPort);
		}

		@Override
		public Socket createSocket(InetAddress host, int port) throws IOException {
			return new PicoSocket(host, port);
		}

		@Override
		public Socket createSocket(InetAddress host, int port, InetAddress local,
				int localPort) throws IOException {
			return new PicoSocket(host, port, local, localPort);
		}
	}

	private static final class Servers extends ServerSocketFactory {
		@Override
		public ServerSocket createServerSocket() throws IOException {
			return new PicoServerSocket();
		}

		@Override
		public ServerSocket createServerSocket(int port) throws IOException {
			return new PicoServerSocket(port);
		}

		@Override
		public ServerSocket createServerSocket(int port, int backlog) throws IOException {
			return new PicoServerSocket(port, backlog);
		}

		@Override
		public ServerSocket createServerSocket(int port, int backlog, InetAddress a)
				throws IOException {
			return new PicoServerSocket(port, backlog, a);
		}
	}
}
