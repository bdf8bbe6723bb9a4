package org.ukthreads.pico.net;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.security.NoSuchAlgorithmException;
import javax.net.SocketFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;

/** SSLContext's socket factories: sockets on its engines. */
public final class Tls {
	private Tls() {}

	/** In the place of SSLSocketFactory.getDefault. */
	public static SocketFactory getDefault() {
		try {
			return new Factory(SSLContext.getDefault());
		} catch (NoSuchAlgorithmException e) {
			throw new IllegalStateException(e);
		}
	}

	/** In the place of SSLContext.getSocketFactory. */
	public static SSLSocketFactory getSocketFactory(SSLContext c) {
		/* Fails now if the context was not initialised, as the JDK's does. */
		c.getSupportedSSLParameters();
		return new Factory(c);
	}

	private static final class Factory extends SSLSocketFactory {
		private final SSLContext context;

		Factory(SSLContext context) {
			this.context = context;
		}

		@Override
		public String[] getDefaultCipherSuites() {
			return context.getDefaultSSLParameters().getCipherSuites();
		}

		@Override
		public String[] getSupportedCipherSuites() {
			return context.getSupportedSSLParameters().getCipherSuites();
		}

		@Override
		public Socket createSocket() {
			return new PicoSSLSocket(context, new PicoSocket(), null, -1, true);
		}

		@Override
		public Socket createSocket(Socket s, String host, int port, boolean autoClose)
				throws IOException {
			if (!s.isConnected())
				throw new java.net.SocketException("Socket is not connected");
			return new PicoSSLSocket(context, s, host, port, autoClose);
		}

		@Override
		public Socket createSocket(String host, int port) throws IOException {
			return new PicoSSLSocket(context, new PicoSocket(host, port), host, port, true);
		}

		@Override
		public Socket createSocket(String host, int port, InetAddress local, int localPort)
				throws IOException {
			return new PicoSSLSocket(context, new PicoSocket(host, port, local, localPort),
				host, port, true);
		}

		@Override
		public Socket createSocket(InetAddress a, int port) throws IOException {
			return new PicoSSLSocket(context, new PicoSocket(a, port), name(a), port, true);
		}

		@Override
		public Socket createSocket(InetAddress a, int port, InetAddress local, int localPort)
				throws IOException {
			return new PicoSSLSocket(context, new PicoSocket(a, port, local, localPort),
				name(a), port, true);
		}

		private static String name(InetAddress a) {
			return new InetSocketAddress(a, 0).getHostString();
		}
	}
}
