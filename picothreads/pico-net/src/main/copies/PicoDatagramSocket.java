// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.MulticastSocket;
import java.net.NetworkInterface;
import java.net.PortUnreachableException;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.WeakHashMap;
import org.ukthreads.pico.NeverBlocks;
import org.ukthreads.pico.Transport;

/** java.net.DatagramSocket on a non-blocking channel. */
public class PicoDatagramSocket extends DatagramSocket {
	private final DatagramChannel channel;
	private final Port port;
	private volatile boolean closed;
	private volatile boolean bound;
	private volatile int timeout;
	private volatile InetSocketAddress remote;
	private boolean ofChannel;

	public PicoDatagramSocket() throws SocketException {
		this(new InetSocketAddress(0));
	}

	public PicoDatagramSocket(int port) throws SocketException {
		this(port, null);
	}

	public PicoDatagramSocket(int port, InetAddress a) throws SocketException {
		this(new InetSocketAddress(a, port));
	}

	public PicoDatagramSocket(SocketAddress a) throws SocketException {
		super((SocketAddress) null);
		/* Some JDKs have opened the superclass's socket, which is not needed. */
		super.close();
		try {
			channel = Transport.provider().openDatagramChannel();
			Channels.unblock(channel);
			port = new Port(channel);
			Leaks.watch(this, port);
			if (a != null)
				bind(a);
		} catch (SocketException e) {
			throw e;
		} catch (IOException e) {
			throw (SocketException) new SocketException(e.getMessage()).initCause(e);
		}
	}

	/** Made for socket() of the channel. */
	PicoDatagramSocket(DatagramChannel channel, Port port) throws IOException {
		super((SocketAddress) null);
		super.close();
		this.channel = channel;
		this.port = port;
		ofChannel = true;
		bound = channel.getLocalAddress() != null;
		remote = (InetSocketAddress) channel.getRemoteAddress();
	}

	private DatagramSocket adaptor() throws SocketException {
		check();
		return Channels.adaptor(channel);
	}

	private void check() throws SocketException {
		if (isClosed())
			throw new SocketException("Socket is closed");
	}

	/** The capacities of packets that were received into: setLength() has reduced their lengths. */
	@NeverBlocks
	private static final class Rooms {
		private static final Map<DatagramPacket, int[]> ROOMS = new WeakHashMap<>();

		static synchronized int of(DatagramPacket p) {
			int[] r = ROOMS.get(p);
			return r != null && r[1] == p.getLength() ? r[0] : p.getLength();
		}

		static synchronized void received(DatagramPacket p, int room, int length) {
			p.setLength(length);
			ROOMS.put(p, new int[] {room, length});
		}
	}

	@Override
	public void receive(DatagramPacket p) throws IOException {
		synchronized (port.inLock) {
			if (closed)
				throw new SocketException("Socket closed");
			if (!isBound())
				bind(new InetSocketAddress(0));
			int room = Rooms.of(p);
			ByteBuffer b = ByteBuffer.wrap(p.getData(), p.getOffset(), room);
			long end = Port.end(timeout);
			for (;;) {
				try {
					SocketAddress from = Channels.rawReceive(channel, b);
					if (from != null) {
						p.setSocketAddress(from);
						Rooms.received(p, room, b.position() - p.getOffset());
						return;
					}
				} catch (ClosedChannelException e) {
					throw new SocketException("Socket closed");
				}
				if (!port.await(SelectionKey.OP_READ, end))
					throw new SocketTimeoutException("Receive timed out");
				if (closed)
					throw new SocketException("Socket closed");
			}
		}
	}

	@Override
	public void send(DatagramPacket p) throws IOException {
		synchronized (port.outLock) {
			if (closed)
				throw new SocketException("Socket closed");
			InetSocketAddress to = p.getAddress() == null ? remote
				: new InetSocketAddress(p.getAddress(), p.getPort());
			if (to == null)
				throw new IllegalArgumentException("Address not set");
			if (remote != null && !to.equals(remote))
				throw new IllegalArgumentException("connected address and packet address "
					+ "differ");
			ByteBuffer b = ByteBuffer.wrap(p.getData(), p.getOffset(), p.getLength());
			int length = b.remaining();
			try {
				while (Channels.rawSend(channel, b, to) == 0 && length > 0)
					port.await(SelectionKey.OP_WRITE, Port.NEVER);
			} catch (ClosedChannelException e) {
				throw new SocketException("Socket closed");
			} catch (PortUnreachableException e) {
				throw e;
			}
			bound = true;
		}
	}

	@Override
	public synchronized void bind(SocketAddress a) throws SocketException {
		check();
		if (isBound())
			throw new SocketException("already bound");
		adaptor().bind(a == null ? new InetSocketAddress(0) : a);
		bound = true;
	}

	@Override
	public void connect(InetAddress a, int port) {
		try {
			connect(new InetSocketAddress(a, port));
		} catch (SocketException e) {
			throw new java.io.UncheckedIOException(e);
		}
	}

	@Override
	public void connect(SocketAddress a) throws SocketException {
		check();
		if (((InetSocketAddress) a).isUnresolved())
			throw new SocketException("Unresolved address");
		try {
			Channels.rawConnect(channel, a);
		} catch (UnknownHostException e) {
			throw new SocketException(e.getMessage());
		} catch (SocketException e) {
			throw e;
		} catch (IOException e) {
			throw (SocketException) new SocketException(e.getMessage()).initCause(e);
		}
		remote = (InetSocketAddress) a;
		bound = true;
	}

	@Override
	public void disconnect() {
		remote = null;
		try {
			channel.disconnect();
		} catch (IOException e) {
			throw new java.io.UncheckedIOException(e);
		}
	}

	@Override
	public boolean isBound() {
		return bound || ofChannel && !isClosed() && Channels.adaptor(channel).isBound();
	}

	@Override
	public boolean isConnected() {
		return remote != null;
	}

	@Override
	public boolean isClosed() {
		return closed || ofChannel && !channel.isOpen();
	}

	@Override
	public InetAddress getInetAddress() {
		return remote == null ? null : remote.getAddress();
	}

	@Override
	public int getPort() {
		return remote == null ? -1 : remote.getPort();
	}

	@Override
	public SocketAddress getRemoteSocketAddress() {
		return remote;
	}

	@Override
	public SocketAddress getLocalSocketAddress() {
		if (isClosed() || !isBound())
			return null;
		return new InetSocketAddress(getLocalAddress(), getLocalPort());
	}

	@Override
	public InetAddress getLocalAddress() {
		return isClosed() ? null : Channels.adaptor(channel).getLocalAddress();
	}

	@Override
	public int getLocalPort() {
		return isClosed() ? -1 : isBound() ? Channels.adaptor(channel).getLocalPort() : 0;
	}

	@Override
	public void setSoTimeout(int millis) throws SocketException {
		check();
		if (millis < 0)
			throw new IllegalArgumentException("timeout < 0");
		timeout = millis;
	}

	@Override
	public int getSoTimeout() throws SocketException {
		check();
		return timeout;
	}

	/** Java 9, as the next two. */
	public <T> DatagramSocket setOption(SocketOption<T> name, T value) throws IOException {
		channel.setOption(Objects.requireNonNull(name), value);
		return this;
	}

	public <T> T getOption(SocketOption<T> name) throws IOException {
		return channel.getOption(Objects.requireNonNull(name));
	}

	public Set<SocketOption<?>> supportedOptions() {
		return channel.supportedOptions();
	}

	/** Java 17, as the next: its adaptor is a MulticastSocket. */
	public void joinGroup(SocketAddress group, NetworkInterface via) throws IOException {
		((MulticastSocket) adaptor()).joinGroup(group, via);
	}

	public void leaveGroup(SocketAddress group, NetworkInterface via) throws IOException {
		((MulticastSocket) adaptor()).leaveGroup(group, via);
	}

	// each: @Override public T m(..) throws SocketException { return adaptor().m(..); }
	void setSendBufferSize(int n); int getSendBufferSize(); void setReceiveBufferSize(int n);
	int getReceiveBufferSize(); void setReuseAddress(boolean on); boolean getReuseAddress();
	void setBroadcast(boolean on); boolean getBroadcast(); void setTrafficClass(int tc);
	int getTrafficClass();

	@Override
	public void close() {
		/* The superclass's constructor may call this before the fields are set. */
		if (port == null)
			return;
		closed = true;
		try {
			port.close();
		} catch (IOException e) {
			throw new java.io.UncheckedIOException(e);
		}
	}

	@Override
	public DatagramChannel getChannel() {
		return ofChannel ? channel : null;
	}
}
