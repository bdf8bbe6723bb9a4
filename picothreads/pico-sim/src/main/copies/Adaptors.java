// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.DatagramSocketImpl;
import java.net.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** The sockets that socket() of a channel in memory returns. They bind, and remember options. */
final class Adaptors {
	private Adaptors() {}

	/** Returns the value that was set, or the usual one. */
	static Object option(Map<SocketOption<?>, Object> set, SocketOption<?> name) {
		Object v = set.get(name);
		if (v != null)
			return v;
		if (name.type() == Boolean.class)
			return false;
		return name == StandardSocketOptions.SO_LINGER ? -1
			: name == StandardSocketOptions.IP_TOS ? 0 : 64 << 10;
	}

	static Set<SocketOption<?>> options(SocketOption<?>... names) {
		return new HashSet<>(Arrays.asList(names));
	}

	static Socket of(Stream c, Map<SocketOption<?>, Object> set) {
		try {
			return new Client(c, set);
		} catch (SocketException e) {
			throw new IllegalStateException(e);
		}
	}

	static ServerSocket of(Listener c, Map<SocketOption<?>, Object> set) {
		try {
			return new Server(c, set);
		} catch (IOException e) {
			throw new IllegalStateException(e);
		}
	}

	static DatagramSocket of(Packets c, Map<SocketOption<?>, Object> set) {
		return new Datagrams(c, set);
	}

	private static final class Client extends Socket {
		private final Stream channel;
		private final Map<SocketOption<?>, Object> set;

		Client(Stream channel, Map<SocketOption<?>, Object> set) throws SocketException {
			super((SocketImpl) null);
			this.channel = channel;
			this.set = set;
		}

		@Override
		public void bind(SocketAddress to) throws IOException {
			channel.bind(to);
		}

		private InetSocketAddress remote() {
			try {
				return (InetSocketAddress) channel.getRemoteAddress();
			} catch (IOException e) {
				return null;
			}
		}

		@Override
		public SocketAddress getRemoteSocketAddress() {
			return remote();
		}

		@Override
		public InetAddress getInetAddress() {
			return remote() == null ? null : remote().getAddress();
		}

		@Override
		public int getPort() {
			return remote() == null ? 0 : remote().getPort();
		}

		@Override
		public boolean isConnected() {
			return remote() != null;
		}

		@Override
		public InetAddress getLocalAddress() {
			InetSocketAddress a = local();
			return a == null ? new InetSocketAddress(0).getAddress() : a.getAddress();
		}

		@Override
		public int getLocalPort() {
			InetSocketAddress a = local();
			return a == null ? -1 : a.getPort();
		}

		@Override
		public void setSoLinger(boolean on, int seconds) {
			set.put(StandardSocketOptions.SO_LINGER, on ? seconds : -1);
		}

		@Override
		public void setOOBInline(boolean on) {}

		@Override
		public boolean getOOBInline() {
			return false;
		}

		// each: @Override public T m(..) { return flag(StandardSocketOptions.X); }
		boolean getTcpNoDelay() = TCP_NODELAY; boolean getKeepAlive() = SO_KEEPALIVE;

		// each: @Override public T m(..) { set.put(StandardSocketOptions.X, ..); }
		void setTcpNoDelay(boolean on) = TCP_NODELAY;
		void setSendBufferSize(int n) = SO_SNDBUF;
		void setKeepAlive(boolean on) = SO_KEEPALIVE;
		void setTrafficClass(int tc) = IP_TOS;

		// each: @Override public T m(..) { return number(StandardSocketOptions.X); }
		int getSoLinger() = SO_LINGER; int getSendBufferSize() = SO_SNDBUF;
		int getTrafficClass() = IP_TOS;

		/* --- as a server --- */

		private InetSocketAddress local() {
			try {
				return (InetSocketAddress) channel.getLocalAddress();
			} catch (IOException e) {
				return null;
			}
		}

		@Override
		public SocketAddress getLocalSocketAddress() {
			return local();
		}

		@Override
		public boolean isBound() {
			return local() != null;
		}

		@Override
		public boolean isClosed() {
			return !channel.isOpen();
		}

		private boolean flag(SocketOption<Boolean> o) {
			return (Boolean) option(set, o);
		}

		private int number(SocketOption<Integer> o) {
			return (Integer) option(set, o);
		}

		@Override
		public void setReceiveBufferSize(int n) {
			set.put(StandardSocketOptions.SO_RCVBUF, n);
		}

		@Override
		public int getReceiveBufferSize() {
			return number(StandardSocketOptions.SO_RCVBUF);
		}

		@Override
		public void setReuseAddress(boolean on) {
			set.put(StandardSocketOptions.SO_REUSEADDR, on);
		}

		@Override
		public boolean getReuseAddress() {
			return flag(StandardSocketOptions.SO_REUSEADDR);
		}
	}

	private static final class Server extends ServerSocket {
		private final Listener channel;
		private final Map<SocketOption<?>, Object> set;

		Server(Listener channel, Map<SocketOption<?>, Object> set) throws IOException {
			this.channel = channel;
			this.set = set;
		}

		@Override
		public void bind(SocketAddress to, int backlog) throws IOException {
			channel.bind(to, backlog);
		}

		@Override
		public InetAddress getInetAddress() {
			return local() == null ? null : local().getAddress();
		}

		@Override
		public int getLocalPort() {
			return local() == null ? -1 : local().getPort();
		}

		// = Adaptors: as a server
	}

	private static final class Datagrams extends DatagramSocket {
		private final Packets channel;
		private final Map<SocketOption<?>, Object> set;

		Datagrams(Packets channel, Map<SocketOption<?>, Object> set) {
			super(new Nothing());
			this.channel = channel;
			this.set = set;
		}

		@Override
		public synchronized void bind(SocketAddress to) throws SocketException {
			try {
				channel.bind(to);
			} catch (SocketException e) {
				throw e;
			} catch (IOException e) {
				throw new SocketException(e.getMessage());
			}
		}

		@Override
		public boolean isBound() {
			return channel.getLocalAddress() != null;
		}

		@Override
		public InetAddress getLocalAddress() {
			return isBound() ? ((InetSocketAddress) channel.getLocalAddress()).getAddress()
				: null;
		}

		@Override
		public int getLocalPort() {
			return isBound() ? ((InetSocketAddress) channel.getLocalAddress()).getPort() : 0;
		}

		// each: @Override public synchronized T m(..) {
		//	return (Integer) option(set, StandardSocketOptions.X); }
		int getSendBufferSize() = SO_SNDBUF; int getReceiveBufferSize() = SO_RCVBUF;

		// each: @Override public synchronized T m(..) { set.put(StandardSocketOptions.X, ..); }
		void setSendBufferSize(int n) = SO_SNDBUF;
		void setReceiveBufferSize(int n) = SO_RCVBUF;
		void setReuseAddress(boolean on) = SO_REUSEADDR;
		void setBroadcast(boolean on) = SO_BROADCAST;

		// each: @Override public synchronized T m(..) {
		//	return (Boolean) option(set, StandardSocketOptions.X); }
		boolean getReuseAddress() = SO_REUSEADDR; boolean getBroadcast() = SO_BROADCAST;
	}

	/** The implementation below a DatagramSocket that never calls it. */
	private static final class Nothing extends DatagramSocketImpl {
		// each: @Override protected T m(..) {}
		void create(); void bind(int port, InetAddress a);
		void send(DatagramPacket p); void receive(DatagramPacket p);
		void setTimeToLive(int ttl); void join(InetAddress a);
		void leave(InetAddress a);
		void joinGroup(SocketAddress a, NetworkInterface via);
		void leaveGroup(SocketAddress a, NetworkInterface via); void close();

		// each: @Override protected T m(..) { return 0; }
		int peek(InetAddress a); int peekData(DatagramPacket p); int getTimeToLive();

		@Override
		@Deprecated
		protected void setTTL(byte ttl) {}

		@Override
		@Deprecated
		protected byte getTTL() {
			return 0;
		}

		@Override
		public void setOption(int id, Object value) {}

		@Override
		public Object getOption(int id) {
			return null;
		}
	}
}
