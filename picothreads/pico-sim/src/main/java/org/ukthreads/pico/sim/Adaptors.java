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
import java.util.Map;

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

		private boolean flag(SocketOption<Boolean> o) {
			return (Boolean) option(set, o);
		}

		private int number(SocketOption<Integer> o) {
			return (Integer) option(set, o);
		}

		@Override
		public void bind(SocketAddress to) throws IOException {
			channel.bind(to);
		}

		private InetSocketAddress local() {
			try {
				return (InetSocketAddress) channel.getLocalAddress();
			} catch (IOException e) {
				return null;
			}
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
		public SocketAddress getLocalSocketAddress() {
			return local();
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
		public boolean isBound() {
			return local() != null;
		}

		@Override
		public boolean isConnected() {
			return remote() != null;
		}

		@Override
		public boolean isClosed() {
			return !channel.isOpen();
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
		public void setTcpNoDelay(boolean on) {
			set.put(StandardSocketOptions.TCP_NODELAY, on);
		}

		@Override
		public boolean getTcpNoDelay() {
			return flag(StandardSocketOptions.TCP_NODELAY);
		}

		@Override
		public void setSoLinger(boolean on, int seconds) {
			set.put(StandardSocketOptions.SO_LINGER, on ? seconds : -1);
		}

		@Override
		public int getSoLinger() {
			return number(StandardSocketOptions.SO_LINGER);
		}

		@Override
		public void setOOBInline(boolean on) {}

		@Override
		public boolean getOOBInline() {
			return false;
		}

		@Override
		public void setSendBufferSize(int n) {
			set.put(StandardSocketOptions.SO_SNDBUF, n);
		}

		@Override
		public int getSendBufferSize() {
			return number(StandardSocketOptions.SO_SNDBUF);
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
		public void setKeepAlive(boolean on) {
			set.put(StandardSocketOptions.SO_KEEPALIVE, on);
		}

		@Override
		public boolean getKeepAlive() {
			return flag(StandardSocketOptions.SO_KEEPALIVE);
		}

		@Override
		public void setTrafficClass(int tc) {
			set.put(StandardSocketOptions.IP_TOS, tc);
		}

		@Override
		public int getTrafficClass() {
			return number(StandardSocketOptions.IP_TOS);
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
		public InetAddress getInetAddress() {
			return local() == null ? null : local().getAddress();
		}

		@Override
		public int getLocalPort() {
			return local() == null ? -1 : local().getPort();
		}

		@Override
		public boolean isBound() {
			return local() != null;
		}

		@Override
		public boolean isClosed() {
			return !channel.isOpen();
		}

		@Override
		public void setReuseAddress(boolean on) {
			set.put(StandardSocketOptions.SO_REUSEADDR, on);
		}

		@Override
		public boolean getReuseAddress() {
			return (Boolean) option(set, StandardSocketOptions.SO_REUSEADDR);
		}

		@Override
		public void setReceiveBufferSize(int n) {
			set.put(StandardSocketOptions.SO_RCVBUF, n);
		}

		@Override
		public int getReceiveBufferSize() {
			return (Integer) option(set, StandardSocketOptions.SO_RCVBUF);
		}
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

		@Override
		public synchronized void setSendBufferSize(int n) {
			set.put(StandardSocketOptions.SO_SNDBUF, n);
		}

		@Override
		public synchronized int getSendBufferSize() {
			return (Integer) option(set, StandardSocketOptions.SO_SNDBUF);
		}

		@Override
		public synchronized void setReceiveBufferSize(int n) {
			set.put(StandardSocketOptions.SO_RCVBUF, n);
		}

		@Override
		public synchronized int getReceiveBufferSize() {
			return (Integer) option(set, StandardSocketOptions.SO_RCVBUF);
		}

		@Override
		public synchronized void setReuseAddress(boolean on) {
			set.put(StandardSocketOptions.SO_REUSEADDR, on);
		}

		@Override
		public synchronized boolean getReuseAddress() {
			return (Boolean) option(set, StandardSocketOptions.SO_REUSEADDR);
		}

		@Override
		public synchronized void setBroadcast(boolean on) {
			set.put(StandardSocketOptions.SO_BROADCAST, on);
		}

		@Override
		public synchronized boolean getBroadcast() {
			return (Boolean) option(set, StandardSocketOptions.SO_BROADCAST);
		}
	}

	/** The implementation below a DatagramSocket that never calls it. */
	private static final class Nothing extends DatagramSocketImpl {
		@Override
		protected void create() {}

		@Override
		protected void bind(int port, InetAddress a) {}

		@Override
		protected void send(DatagramPacket p) {}

		@Override
		protected int peek(InetAddress a) {
			return 0;
		}

		@Override
		protected int peekData(DatagramPacket p) {
			return 0;
		}

		@Override
		protected void receive(DatagramPacket p) {}

		@Override
		@Deprecated
		protected void setTTL(byte ttl) {}

		@Override
		@Deprecated
		protected byte getTTL() {
			return 0;
		}

		@Override
		protected void setTimeToLive(int ttl) {}

		@Override
		protected int getTimeToLive() {
			return 0;
		}

		@Override
		protected void join(InetAddress a) {}

		@Override
		protected void leave(InetAddress a) {}

		@Override
		protected void joinGroup(SocketAddress a, NetworkInterface via) {}

		@Override
		protected void leaveGroup(SocketAddress a, NetworkInterface via) {}

		@Override
		protected void close() {}

		@Override
		public void setOption(int id, Object value) {}

		@Override
		public Object getOption(int id) {
			return null;
		}
	}
}
