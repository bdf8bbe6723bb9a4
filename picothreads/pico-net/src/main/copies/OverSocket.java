// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.nio.channels.SocketChannel;
import java.util.Set;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSocket;

/** An SSLSocket on top of another socket and an engine, whose settings it shows. */
abstract class OverSocket extends SSLSocket {
	final Socket base;
	volatile SSLEngine engine;

	OverSocket(Socket base) {
		this.base = base;
	}

	@Override
	public void connect(SocketAddress to) throws IOException {
		connect(to, 0);
	}

	@Override
	public SocketChannel getChannel() {
		return null;
	}

	// each: @Override public T m(..) { return engine.m(..); }
	String[] getSupportedCipherSuites(); String[] getSupportedProtocols();
	String[] getEnabledCipherSuites(); void setEnabledCipherSuites(String[] s);
	String[] getEnabledProtocols(); void setEnabledProtocols(String[] p);
	boolean getUseClientMode(); void setUseClientMode(boolean on);
	boolean getNeedClientAuth(); void setNeedClientAuth(boolean on);
	boolean getWantClientAuth(); void setWantClientAuth(boolean on);
	boolean getEnableSessionCreation(); void setEnableSessionCreation(boolean on);

	// each: @Override public T m(..) { return base.m(..); }
	void bind(SocketAddress to) throws IOException;
	boolean isConnected(); boolean isBound(); boolean isInputShutdown();
	InetAddress getInetAddress(); int getPort();
	InetAddress getLocalAddress(); int getLocalPort();
	SocketAddress getRemoteSocketAddress(); SocketAddress getLocalSocketAddress();

	// each: @Override public T m(..) throws SocketException { return base.m(..); }
	int getSoTimeout(); void setSoTimeout(int millis);
	int getSoLinger(); void setSoLinger(boolean on, int seconds);
	boolean getTcpNoDelay(); void setTcpNoDelay(boolean on);
	boolean getKeepAlive(); void setKeepAlive(boolean on);
	boolean getReuseAddress(); void setReuseAddress(boolean on);
	int getSendBufferSize(); void setSendBufferSize(int size);
	int getReceiveBufferSize(); void setReceiveBufferSize(int size);
	int getTrafficClass(); void setTrafficClass(int tc);

	private PicoSocket options() {
		if (base instanceof PicoSocket)
			return (PicoSocket) base;
		throw new UnsupportedOperationException("socket options are not supported on " + base);
	}

	/** Java 9, as the next two. */
	public <T> Socket setOption(SocketOption<T> name, T value) throws IOException {
		options().setOption(name, value);
		return this;
	}

	// each: public T m(..) { return options().m(..); }
	<T> T getOption(SocketOption<T> name) throws IOException;
	Set<SocketOption<?>> supportedOptions();

	@Override
	public void sendUrgentData(int data) throws SocketException {
		throw new SocketException("This method is not supported by SSLSockets");
	}

	@Override
	public void setOOBInline(boolean on) throws SocketException {
		throw new SocketException("This method is ineffective, since sending urgent data is"
			+ " not supported by SSLSockets");
	}

	@Override
	public boolean getOOBInline() throws SocketException {
		throw new SocketException("This method is ineffective, since sending urgent data is"
			+ " not supported by SSLSockets");
	}
}
