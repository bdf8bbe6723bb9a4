// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.nio.channels.ServerSocketChannel;
import java.util.Set;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocket;

/**
 * SSLServerSocket on a server socket that parks. An engine that never runs holds the settings;
 * each accepted socket begins with a copy, and shakes hands at its first use.
 */
final class PicoSSLServerSocket extends SSLServerSocket {
	private final SSLContext context;
	private final SSLEngine engine;
	private final PicoServerSocket base;

	PicoSSLServerSocket(SSLContext context, SSLEngine engine, PicoServerSocket base)
			throws IOException {
		this.context = context;
		this.engine = engine;
		this.base = base;
	}

	@Override
	public Socket accept() throws IOException {
		return new PicoSSLSocket(context, base.accept(), engine, new byte[0], true);
	}

	@Override
	public String toString() {
		return "[SSL: " + base + "]";
	}

	// each: @Override public T m(..) { return engine.m(..); }
	String[] getSupportedCipherSuites(); String[] getSupportedProtocols();
	String[] getEnabledCipherSuites(); void setEnabledCipherSuites(String[] v);
	String[] getEnabledProtocols(); void setEnabledProtocols(String[] v);
	boolean getUseClientMode(); void setUseClientMode(boolean v);
	boolean getNeedClientAuth(); void setNeedClientAuth(boolean v);
	boolean getWantClientAuth(); void setWantClientAuth(boolean v);
	boolean getEnableSessionCreation(); void setEnableSessionCreation(boolean v);
	SSLParameters getSSLParameters(); void setSSLParameters(SSLParameters v);

	// each: @Override public T m(..) { return base.m(..); }
	InetAddress getInetAddress(); int getLocalPort(); boolean isBound(); boolean isClosed();
	SocketAddress getLocalSocketAddress(); ServerSocketChannel getChannel();

	// each: @Override public T m(..) throws IOException { return base.m(..); }
	void bind(SocketAddress to); void bind(SocketAddress to, int backlog);
	void close(); int getSoTimeout();

	// each: @Override public T m(..) throws SocketException { return base.m(..); }
	void setSoTimeout(int millis);
	boolean getReuseAddress(); void setReuseAddress(boolean on);
	int getReceiveBufferSize(); void setReceiveBufferSize(int size);

	/** Java 9, as the next two. */
	public <T> ServerSocket setOption(SocketOption<T> name, T value) throws IOException {
		base.setOption(name, value);
		return this;
	}

	// each: public T m(..) { return base.m(..); }
	<T> T getOption(SocketOption<T> name) throws IOException;
	Set<SocketOption<?>> supportedOptions();
}
