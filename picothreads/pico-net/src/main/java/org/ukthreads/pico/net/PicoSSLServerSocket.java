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
 * each accepted socket begins with a copy, and shakes hands at its first use. PicoSSLSocket
 * and OverSocket delegate the same methods to their engine and socket, because the JDK has no
 * common type for these.
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

	/* --- delegated to the engine --- */

	@Override
	public String[] getSupportedCipherSuites() {
		return engine.getSupportedCipherSuites();
	}

	@Override
	public String[] getEnabledCipherSuites() {
		return engine.getEnabledCipherSuites();
	}

	@Override
	public void setEnabledCipherSuites(String[] v) {
		engine.setEnabledCipherSuites(v);
	}

	@Override
	public String[] getSupportedProtocols() {
		return engine.getSupportedProtocols();
	}

	@Override
	public String[] getEnabledProtocols() {
		return engine.getEnabledProtocols();
	}

	@Override
	public void setEnabledProtocols(String[] v) {
		engine.setEnabledProtocols(v);
	}

	@Override
	public boolean getUseClientMode() {
		return engine.getUseClientMode();
	}

	@Override
	public void setUseClientMode(boolean v) {
		engine.setUseClientMode(v);
	}

	@Override
	public boolean getNeedClientAuth() {
		return engine.getNeedClientAuth();
	}

	@Override
	public void setNeedClientAuth(boolean v) {
		engine.setNeedClientAuth(v);
	}

	@Override
	public boolean getWantClientAuth() {
		return engine.getWantClientAuth();
	}

	@Override
	public void setWantClientAuth(boolean v) {
		engine.setWantClientAuth(v);
	}

	@Override
	public boolean getEnableSessionCreation() {
		return engine.getEnableSessionCreation();
	}

	@Override
	public void setEnableSessionCreation(boolean v) {
		engine.setEnableSessionCreation(v);
	}

	@Override
	public SSLParameters getSSLParameters() {
		return engine.getSSLParameters();
	}

	@Override
	public void setSSLParameters(SSLParameters v) {
		engine.setSSLParameters(v);
	}

	/* --- delegated to the socket --- */

	@Override
	public void bind(SocketAddress to) throws IOException {
		base.bind(to);
	}

	@Override
	public void bind(SocketAddress to, int backlog) throws IOException {
		base.bind(to, backlog);
	}

	@Override
	public void close() throws IOException {
		base.close();
	}

	@Override
	public InetAddress getInetAddress() {
		return base.getInetAddress();
	}

	@Override
	public int getLocalPort() {
		return base.getLocalPort();
	}

	@Override
	public SocketAddress getLocalSocketAddress() {
		return base.getLocalSocketAddress();
	}

	@Override
	public ServerSocketChannel getChannel() {
		return base.getChannel();
	}

	@Override
	public boolean isBound() {
		return base.isBound();
	}

	@Override
	public boolean isClosed() {
		return base.isClosed();
	}

	@Override
	public void setSoTimeout(int millis) throws SocketException {
		base.setSoTimeout(millis);
	}

	@Override
	public int getSoTimeout() throws IOException {
		return base.getSoTimeout();
	}

	/** Java 9, as the next two. */
	public <T> ServerSocket setOption(SocketOption<T> name, T value) throws IOException {
		base.setOption(name, value);
		return this;
	}

	public <T> T getOption(SocketOption<T> name) throws IOException {
		return base.getOption(name);
	}

	public Set<SocketOption<?>> supportedOptions() {
		return base.supportedOptions();
	}

	@Override
	public void setReuseAddress(boolean on) throws SocketException {
		base.setReuseAddress(on);
	}

	@Override
	public boolean getReuseAddress() throws SocketException {
		return base.getReuseAddress();
	}

	@Override
	public void setReceiveBufferSize(int size) throws SocketException {
		base.setReceiveBufferSize(size);
	}

	@Override
	public int getReceiveBufferSize() throws SocketException {
		return base.getReceiveBufferSize();
	}
}
