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

		// each: @Override public T m(..) throws IOException { return new PicoSocket(..); }
		Socket createSocket(String host, int port);
		Socket createSocket(String host, int port, InetAddress local, int localPort);
		Socket createSocket(InetAddress host, int port);
		Socket createSocket(InetAddress host, int port, InetAddress local, int localPort);
	}

	private static final class Servers extends ServerSocketFactory {
		// each: @Override public T m(..) throws IOException { return new PicoServerSocket(..); }
		ServerSocket createServerSocket(); ServerSocket createServerSocket(int port);
		ServerSocket createServerSocket(int port, int backlog);
		ServerSocket createServerSocket(int port, int backlog, InetAddress a);
	}
}
