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
import javax.net.ssl.SSLSocket;

/** An SSLSocket on top of another socket, whose addresses and options it shows. */
abstract class OverSocket extends SSLSocket {
	final Socket base;

	OverSocket(Socket base) {
		this.base = base;
	}

	@Override
	public void connect(SocketAddress to) throws IOException {
		connect(to, 0);
	}

	@Override
	public void bind(SocketAddress to) throws IOException {
		base.bind(to);
	}

	@Override
	public InetAddress getInetAddress() {
		return base.getInetAddress();
	}

	@Override
	public InetAddress getLocalAddress() {
		return base.getLocalAddress();
	}

	@Override
	public int getPort() {
		return base.getPort();
	}

	@Override
	public int getLocalPort() {
		return base.getLocalPort();
	}

	@Override
	public SocketAddress getRemoteSocketAddress() {
		return base.getRemoteSocketAddress();
	}

	@Override
	public SocketAddress getLocalSocketAddress() {
		return base.getLocalSocketAddress();
	}

	@Override
	public SocketChannel getChannel() {
		return null;
	}

	@Override
	public boolean isConnected() {
		return base.isConnected();
	}

	@Override
	public boolean isBound() {
		return base.isBound();
	}

	@Override
	public boolean isInputShutdown() {
		return base.isInputShutdown();
	}

	@Override
	public void setSoTimeout(int millis) throws SocketException {
		base.setSoTimeout(millis);
	}

	@Override
	public int getSoTimeout() throws SocketException {
		return base.getSoTimeout();
	}

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

	public <T> T getOption(SocketOption<T> name) throws IOException {
		return options().getOption(name);
	}

	public Set<SocketOption<?>> supportedOptions() {
		return options().supportedOptions();
	}

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

	@Override
	public void setTcpNoDelay(boolean on) throws SocketException {
		base.setTcpNoDelay(on);
	}

	@Override
	public boolean getTcpNoDelay() throws SocketException {
		return base.getTcpNoDelay();
	}

	@Override
	public void setSoLinger(boolean on, int seconds) throws SocketException {
		base.setSoLinger(on, seconds);
	}

	@Override
	public int getSoLinger() throws SocketException {
		return base.getSoLinger();
	}

	@Override
	public void setKeepAlive(boolean on) throws SocketException {
		base.setKeepAlive(on);
	}

	@Override
	public boolean getKeepAlive() throws SocketException {
		return base.getKeepAlive();
	}

	@Override
	public void setSendBufferSize(int size) throws SocketException {
		base.setSendBufferSize(size);
	}

	@Override
	public int getSendBufferSize() throws SocketException {
		return base.getSendBufferSize();
	}

	@Override
	public void setReceiveBufferSize(int size) throws SocketException {
		base.setReceiveBufferSize(size);
	}

	@Override
	public int getReceiveBufferSize() throws SocketException {
		return base.getReceiveBufferSize();
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
	public void setTrafficClass(int tc) throws SocketException {
		base.setTrafficClass(tc);
	}

	@Override
	public int getTrafficClass() throws SocketException {
		return base.getTrafficClass();
	}
}
