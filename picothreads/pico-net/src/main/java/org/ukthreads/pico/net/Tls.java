// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import javax.net.ServerSocketFactory;
import javax.net.SocketFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSocketFactory;

/** The factories of SSLContext, for sockets on its engines. */
public final class Tls {
	private Tls() {}

	/** Replaces SSLSocketFactory.getDefault. */
	public static SocketFactory getDefault() {
		try {
			return new Factory(SSLContext.getDefault());
		} catch (NoSuchAlgorithmException e) {
			throw new IllegalStateException(e);
		}
	}

	/** Replaces SSLContext.getSocketFactory. */
	public static SSLSocketFactory getSocketFactory(SSLContext c) {
		/* Like the JDK's, fails now if the context was not initialised. */
		c.getSupportedSSLParameters();
		return new Factory(c);
	}

	/**
	 * Returns our default factory if f is of the JDK's class, which only the default factory
	 * can be here; the JDK makes a new one per caller.
	 */
	static SSLSocketFactory ours(SSLSocketFactory f) {
		return f.getClass() == SSLSocketFactory.getDefault().getClass()
			? (SSLSocketFactory) getDefault() : f;
	}

	/** Replaces SSLServerSocketFactory.getDefault. */
	public static ServerSocketFactory getDefaultServer() {
		try {
			return new ServerFactory(SSLContext.getDefault());
		} catch (NoSuchAlgorithmException e) {
			throw new IllegalStateException(e);
		}
	}

	/** Replaces SSLContext.getServerSocketFactory. */
	public static SSLServerSocketFactory getServerSocketFactory(SSLContext c) {
		c.getSupportedSSLParameters();
		return new ServerFactory(c);
	}

	/** Copies the settings of `from` to `to`. */
	static SSLEngine like(SSLEngine from, SSLEngine to) {
		to.setUseClientMode(from.getUseClientMode());
		to.setSSLParameters(from.getSSLParameters());
		to.setEnableSessionCreation(from.getEnableSessionCreation());
		return to;
	}

	/** Java 9. */
	private static final Method GET_PACKET = ofParameters("getMaximumPacketSize");
	private static final Method SET_PACKET = ofParameters("setMaximumPacketSize", int.class);

	private static Method ofParameters(String name, Class<?>... arguments) {
		try {
			return SSLParameters.class.getMethod(name, arguments);
		} catch (NoSuchMethodException e) {
			return null;
		}
	}

	/** Returns the limit for the size of a record; 0: only the protocol limits it. */
	static int packet(SSLParameters p) {
		try {
			return GET_PACKET == null ? 0 : (Integer) GET_PACKET.invoke(p);
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	static SSLParameters packet(SSLParameters p, int size) {
		try {
			if (SET_PACKET != null)
				SET_PACKET.invoke(p, size);
			return p;
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	private static final class ServerFactory extends SSLServerSocketFactory {
		private final SSLContext context;

		ServerFactory(SSLContext context) {
			this.context = context;
		}

		private SSLEngine engine() {
			SSLEngine e = context.createSSLEngine();
			e.setUseClientMode(false);
			return e;
		}

		@Override
		public String[] getDefaultCipherSuites() {
			return engine().getEnabledCipherSuites();
		}

		@Override
		public String[] getSupportedCipherSuites() {
			return engine().getSupportedCipherSuites();
		}

		@Override
		public ServerSocket createServerSocket() throws IOException {
			return new PicoSSLServerSocket(context, engine(), new PicoServerSocket());
		}

		@Override
		public ServerSocket createServerSocket(int port) throws IOException {
			return createServerSocket(port, 50, null);
		}

		@Override
		public ServerSocket createServerSocket(int port, int backlog) throws IOException {
			return createServerSocket(port, backlog, null);
		}

		@Override
		public ServerSocket createServerSocket(int port, int backlog, InetAddress a)
				throws IOException {
			return new PicoSSLServerSocket(context, engine(),
				new PicoServerSocket(port, backlog, a));
		}
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
				throw new java.net.SocketException("Underlying socket is not connected");
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

		/** Makes the server's end of a connection from which some bytes were already read. */
		@Override
		public Socket createSocket(Socket s, InputStream consumed, boolean autoClose)
				throws IOException {
			if (!s.isConnected())
				throw new java.net.SocketException("Underlying socket is not connected");
			byte[] read = new byte[consumed == null ? 0 : consumed.available()];
			int n = 0;
			for (int r; n < read.length
					&& (r = consumed.read(read, n, read.length - n)) >= 0; n += r)
				continue;
			SSLEngine e = context.createSSLEngine();
			e.setUseClientMode(false);
			return new PicoSSLSocket(context, s, e, Arrays.copyOf(read, n), autoClose);
		}

		private static String name(InetAddress a) {
			return new InetSocketAddress(a, 0).getHostString();
		}
	}
}
