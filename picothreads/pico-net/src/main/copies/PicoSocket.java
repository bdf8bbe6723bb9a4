// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;
import java.net.SocketOption;
import java.net.UnknownHostException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.SocketChannel;
import java.util.Collections;
import java.util.Objects;
import java.util.Set;
import org.ukthreads.pico.Transport;

/*
 * java.net.Socket on a non-blocking channel; where it would block, the thread parks.
 *
 * The superclass only supplies the type: all its methods are overridden below, and its own
 * SocketImpl is never opened. Options and addresses go to the channel's socket adaptor, whose
 * methods for them do not block.
 */
public class PicoSocket extends Socket {
	/** Made at the first use, so that a socket that is never used has no file descriptor. */
	private volatile Conduit conduit;
	private Proxy proxy;
	private int timeout;
	private volatile boolean closed;
	private volatile boolean bound;
	private volatile InetSocketAddress remote;
	private Streams streams;
	/** Made for socket() of this channel. */
	private boolean ofChannel;

	public PicoSocket() {}

	public PicoSocket(Proxy proxy) {
		if (proxy == null)
			throw new IllegalArgumentException("Invalid Proxy");
		if (proxy.type() == Proxy.Type.HTTP)
			throw new IllegalArgumentException("Invalid Proxy");
		this.proxy = proxy;
	}

	protected PicoSocket(SocketImpl impl) throws SocketException {
		if (impl != null)
			throw new SocketException("a SocketImpl of the program cannot park");
	}

	public PicoSocket(String host, int port) throws UnknownHostException, IOException {
		open(resolve(host, port), null);
	}

	public PicoSocket(InetAddress address, int port) throws IOException {
		open(new InetSocketAddress(Objects.requireNonNull(address), port), null);
	}

	public PicoSocket(String host, int port, InetAddress local, int localPort)
			throws IOException {
		open(resolve(host, port), new InetSocketAddress(local, localPort));
	}

	public PicoSocket(InetAddress address, int port, InetAddress local, int localPort)
			throws IOException {
		open(new InetSocketAddress(Objects.requireNonNull(address), port),
			new InetSocketAddress(local, localPort));
	}

	@Deprecated
	public PicoSocket(String host, int port, boolean stream) throws IOException {
		streamOnly(stream);
		open(resolve(host, port), null);
	}

	@Deprecated
	public PicoSocket(InetAddress address, int port, boolean stream) throws IOException {
		streamOnly(stream);
		open(new InetSocketAddress(address, port), null);
	}

	private static void streamOnly(boolean stream) {
		if (!stream)
			throw new IllegalArgumentException("Socket constructor does not support "
				+ "creation of datagram sockets");
	}

	/** Makes a socket for an accepted connection, or for a channel of the program. */
	PicoSocket(Conduit c, boolean ofChannel) {
		this.ofChannel = ofChannel;
		conduit = c;
		bound = true;
		remote = (InetSocketAddress) Channels.adaptor(c.channel).getRemoteSocketAddress();
		if (ofChannel)
			bound = Channels.adaptor(c.channel).isBound();
	}

	/** Connects a socket of the program, for ServerSocket.implAccept. */
	void become(Conduit c) throws SocketException {
		conduit = c;
		bound = true;
		remote = (InetSocketAddress) Channels.adaptor(c.channel).getRemoteSocketAddress();
		c.timeout = timeout;
	}

	private static InetSocketAddress resolve(String host, int port)
			throws UnknownHostException {
		if (port < 0 || port > 65535)
			throw new IllegalArgumentException("port out of range:" + port);
		return new InetSocketAddress(host == null ? InetAddress.getByName(null)
			: Dns.getByName(host), port);
	}

	private void open(InetSocketAddress to, InetSocketAddress local) throws IOException {
		try {
			if (local != null)
				bind(local);
			connect(to);
		} catch (IOException | IllegalArgumentException e) {
			close();
			throw e;
		}
	}

	private Conduit conduit() throws SocketException {
		Conduit c = conduit;
		if (c != null)
			return c;
		return make();
	}

	private Conduit make() throws SocketException {
		synchronized (this) {
			if (closed)
				throw new SocketException("Socket is closed");
			if (conduit == null) {
				try {
					conduit = new Conduit(Transport.provider().openSocketChannel());
				} catch (SocketException e) {
					throw e;
				} catch (IOException e) {
					throw (SocketException) new SocketException(e.getMessage())
						.initCause(e);
				}
				conduit.timeout = timeout;
			}
			return conduit;
		}
	}

	private void check() throws SocketException {
		if (isClosed())
			throw new SocketException("Socket is closed");
	}

	private Socket adaptor() throws SocketException {
		check();
		return Channels.adaptor(conduit().channel);
	}

	@Override
	public void connect(SocketAddress to) throws IOException {
		connect(to, 0);
	}

	@Override
	public void connect(SocketAddress to, int millis) throws IOException {
		if (to == null)
			throw new IllegalArgumentException("connect: The address can't be null");
		if (millis < 0)
			throw new IllegalArgumentException("connect: timeout can't be negative");
		check();
		if (isConnected())
			throw new SocketException("already connected");
		if (!(to instanceof InetSocketAddress))
			throw new IllegalArgumentException("Unsupported address type");
		InetSocketAddress a = (InetSocketAddress) to;
		Proxy by = proxy != null || ofChannel ? proxy : Socks.chosen(a);
		if (by != null && by.type() == Proxy.Type.SOCKS) {
			InetSocketAddress p = (InetSocketAddress) by.address();
			try {
				conduit().connect(p.isUnresolved() ? resolve(p.getHostString(), p.getPort())
					: p, millis);
			} catch (IOException e) {
				throw proxy != null ? e : Socks.failed(a, p, e);
			}
			Socks.connect(conduit(), a, millis);
		} else {
			if (a.isUnresolved()) {
				close();
				throw new UnknownHostException(a.getHostString());
			}
			try {
				conduit().connect(a, millis);
			} catch (IOException e) {
				closed = true;
				throw e;
			}
		}
		remote = a;
		bound = true;
	}

	@Override
	public void bind(SocketAddress to) throws IOException {
		check();
		if (isBound())
			throw new SocketException("Already bound");
		if (to != null && !(to instanceof InetSocketAddress))
			throw new IllegalArgumentException("Unsupported address type");
		if (to != null && ((InetSocketAddress) to).isUnresolved())
			throw new SocketException("Unresolved address");
		conduit().channel.bind(to);
		bound = true;
	}

	@Override
	public InetAddress getInetAddress() {
		InetSocketAddress a = remote();
		return a == null ? null : a.getAddress();
	}

	private InetSocketAddress remote() {
		if (remote == null && ofChannel)
			remote = (InetSocketAddress) Channels.adaptor(conduit.channel)
				.getRemoteSocketAddress();
		return remote;
	}

	@Override
	public InetAddress getLocalAddress() {
		Conduit c = conduit;
		if (c == null || isClosed() || !isBound())
			return new InetSocketAddress(0).getAddress();
		return Channels.adaptor(c.channel).getLocalAddress();
	}

	private int localPort = -1;

	@Override
	public int getLocalPort() {
		Conduit c = conduit;
		if (!isBound() || c == null)
			return -1;
		if (!isClosed())
			localPort = Channels.adaptor(c.channel).getLocalPort();
		return localPort;
	}

	@Override
	public int getPort() {
		InetSocketAddress a = remote();
		return a == null ? 0 : a.getPort();
	}

	@Override
	public SocketAddress getRemoteSocketAddress() {
		return isConnected() ? new InetSocketAddress(getInetAddress(), getPort()) : null;
	}

	@Override
	public SocketAddress getLocalSocketAddress() {
		return isBound() ? new InetSocketAddress(getLocalAddress(), getLocalPort()) : null;
	}

	@Override
	public SocketChannel getChannel() {
		return ofChannel ? conduit.channel : null;
	}

	@Override
	public InputStream getInputStream() throws IOException {
		check();
		if (!isConnected())
			throw new SocketException("Socket is not connected");
		if (isInputShutdown())
			throw new SocketException("Socket input is shutdown");
		return streams().in;
	}

	@Override
	public OutputStream getOutputStream() throws IOException {
		check();
		if (!isConnected())
			throw new SocketException("Socket is not connected");
		if (isOutputShutdown())
			throw new SocketException("Socket output is shutdown");
		return streams().out;
	}

	private static final class Streams extends Duct {
		private final PicoSocket socket;
		private final Conduit conduit;

		Streams(PicoSocket s, Conduit c) {
			socket = s;
			conduit = c;
		}

		// each: @Override T m(..) throws IOException { return conduit.m(..); }
		int read(byte[] b, int off, int len); void write(byte[] b, int off, int len);
		int available();

		@Override
		void close() throws IOException {
			socket.close();
		}
	}

	private Streams streams() {
		synchronized (this) {
			if (streams == null)
				streams = new Streams(this, conduit);
			return streams;
		}
	}

	@Override
	public void setSoTimeout(int millis) throws SocketException {
		check();
		if (millis < 0)
			throw new IllegalArgumentException("timeout can't be negative");
		timeout = millis;
		Conduit c = conduit;
		if (c != null)
			c.timeout = millis;
	}

	@Override
	public int getSoTimeout() throws SocketException {
		check();
		return timeout;
	}

	@Override
	public void setSoLinger(boolean on, int seconds) throws SocketException {
		Socket a = adaptor();
		if (on && seconds < 0)
			throw new IllegalArgumentException("invalid value for SO_LINGER");
		a.setSoLinger(on, seconds);
	}

	@Override
	public void sendUrgentData(int data) throws IOException {
		if (isClosed())
			throw new SocketException("Socket closed");
		try {
			Channels.urgent(conduit().channel, data);
		} catch (NotYetConnectedException e) {
			throw new SocketException("Not connected");
		} catch (ClosedChannelException e) {
			throw new SocketException(isClosed() ? "Socket closed" : "Broken pipe");
		}
	}

	// each: @Override public T m(..) throws SocketException { return adaptor().m(..); }
	void setTcpNoDelay(boolean on); boolean getTcpNoDelay(); int getSoLinger();
	void setOOBInline(boolean on); boolean getOOBInline(); void setSendBufferSize(int size);
	int getSendBufferSize(); void setReceiveBufferSize(int size); int getReceiveBufferSize();
	void setKeepAlive(boolean on); boolean getKeepAlive(); void setTrafficClass(int tc);
	int getTrafficClass(); void setReuseAddress(boolean on); boolean getReuseAddress();

	@Override
	public void shutdownInput() throws IOException {
		check();
		if (!isConnected())
			throw new SocketException("Socket is not connected");
		if (isInputShutdown())
			throw new SocketException("Socket input is already shutdown");
		conduit.shutdownInput();
	}

	@Override
	public void shutdownOutput() throws IOException {
		check();
		if (!isConnected())
			throw new SocketException("Socket is not connected");
		if (isOutputShutdown())
			throw new SocketException("Socket output is already shutdown");
		conduit.shutdownOutput();
	}

	@Override
	public boolean isConnected() {
		return remote() != null;
	}

	@Override
	public boolean isBound() {
		return bound || ofChannel && Channels.adaptor(conduit.channel).isBound();
	}

	@Override
	public boolean isClosed() {
		return closed || ofChannel && !conduit.channel.isOpen();
	}

	@Override
	public boolean isInputShutdown() {
		Conduit c = conduit;
		return c != null && c.inShut;
	}

	@Override
	public boolean isOutputShutdown() {
		Conduit c = conduit;
		return c != null && c.outShut;
	}

	@Override
	public void close() throws IOException {
		if (isBound())
			getLocalPort();
		closed = true;
		Conduit c = conduit;
		if (c != null)
			c.close();
	}

	@Override
	public String toString() {
		if (isConnected())
			return "Socket[addr=" + getInetAddress() + ",port=" + getPort() + ",localport="
				+ getLocalPort() + "]";
		return "Socket[unconnected]";
	}

	/* --- options --- */

	private SocketChannel options() throws SocketException {
		check();
		return conduit().channel;
	}

	/** Java 9, as the next two: those of the superclass would open another socket. */
	public <T> Socket setOption(SocketOption<T> name, T value) throws IOException {
		options().setOption(Objects.requireNonNull(name), value);
		return this;
	}

	public <T> T getOption(SocketOption<T> name) throws IOException {
		return options().getOption(Objects.requireNonNull(name));
	}

	public Set<SocketOption<?>> supportedOptions() {
		try {
			return conduit().channel.supportedOptions();
		} catch (SocketException e) {
			return Collections.emptySet();
		}
	}
}
