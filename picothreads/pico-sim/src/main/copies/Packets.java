// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.IOException;
import java.net.BindException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.MembershipKey;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.SelectionKey;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** Datagrams. The network may delay, lose, reorder or duplicate them. There is no multicast. */
final class Packets extends DatagramChannel implements VirtualSelector.Ready {
	private static final int MOST = 1_000;

	private static final class Packet {
		final byte[] bytes;
		final InetSocketAddress from;

		Packet(byte[] bytes, InetSocketAddress from) {
			this.bytes = bytes;
			this.from = from;
		}
	}

	private final Network net;
	private final Node node;
	private final ArrayDeque<Packet> in = new ArrayDeque<>();
	private InetSocketAddress local;
	private InetSocketAddress remote;
	private final Map<SocketOption<?>, Object> options = new HashMap<>();

	Packets(Provider p, Node node) {
		super(p);
		net = p.run().net;
		this.node = node;
		node.channels.add(this);
	}

	private void check() throws IOException {
		if (!isOpen())
			throw new ClosedChannelException();
	}

	@Override
	public DatagramChannel bind(SocketAddress to) throws IOException {
		check();
		InetSocketAddress a = to == null ? new InetSocketAddress(0) : (InetSocketAddress) to;
		int p = net.take(node, a.getPort(), false, this);
		if (p < 0)
			throw new BindException("Address already in use");
		local = new InetSocketAddress(a.getAddress(), p);
		return this;
	}

	@Override
	public int send(ByteBuffer from, SocketAddress to) throws IOException {
		check();
		if (local == null)
			bind(null);
		byte[] b = new byte[from.remaining()];
		from.get(b);
		InetSocketAddress a = (InetSocketAddress) to;
		Node far = net.at(node, a.getAddress());
		for (int k = far == null ? 0 : net.comesTwice() ? 2 : 1; k > 0; k--)
			if (net.passes(node, far))
				net.after(net.delay(node, far), () -> arrive(far, a.getPort(), b));
		return b.length;
	}

	private void arrive(Node far, int port, byte[] b) {
		Object o = far.up ? net.owner(far, port, false) : null;
		if (!(o instanceof Packets))
			return;
		Packets p = (Packets) o;
		InetSocketAddress from = new InetSocketAddress(far == node
			? local.getAddress().isAnyLocalAddress() ? InetAddress.getLoopbackAddress()
				: local.getAddress() : node.address, local.getPort());
		if (p.in.size() < MOST && (p.remote == null || p.remote.equals(from))) {
			p.in.add(new Packet(b, from));
			p.node.run.changed();
		}
	}

	@Override
	public SocketAddress receive(ByteBuffer to) throws IOException {
		check();
		if (local == null)
			bind(null);
		Packet p = in.poll();
		if (p == null)
			return null;
		to.put(p.bytes, 0, Math.min(to.remaining(), p.bytes.length));
		return p.from;
	}

	@Override
	public int read(ByteBuffer to) throws IOException {
		if (remote == null)
			throw new NotYetConnectedException();
		int at = to.position();
		return receive(to) == null ? 0 : to.position() - at;
	}

	@Override
	public long read(ByteBuffer[] to, int off, int len) throws IOException {
		return len == 0 ? 0 : read(to[off]);
	}

	@Override
	public int write(ByteBuffer from) throws IOException {
		if (remote == null)
			throw new NotYetConnectedException();
		return send(from, remote);
	}

	@Override
	public long write(ByteBuffer[] from, int off, int len) throws IOException {
		int n = 0;
		for (int k = off; k < off + len; k++)
			n += from[k].remaining();
		ByteBuffer all = ByteBuffer.allocate(n);
		for (int k = off; k < off + len; k++)
			all.put(from[k]);
		all.flip();
		return write(all);
	}

	@Override
	public DatagramChannel connect(SocketAddress to) throws IOException {
		check();
		if (local == null)
			bind(null);
		remote = (InetSocketAddress) to;
		return this;
	}

	@Override
	public DatagramChannel disconnect() {
		remote = null;
		return this;
	}

	@Override
	public int readyOps() {
		return SelectionKey.OP_WRITE | (in.isEmpty() ? 0 : SelectionKey.OP_READ);
	}

	@Override
	protected void implCloseSelectableChannel() {
		node.channels.remove(this);
		die();
		node.run.changed();
	}

	void die() {
		if (local != null)
			net.drop(node, local.getPort(), false, this);
		in.clear();
	}

	@Override
	public boolean isConnected() {
		return remote != null;
	}

	@Override
	public SocketAddress getRemoteAddress() {
		return remote;
	}

	@Override
	public SocketAddress getLocalAddress() {
		return local;
	}

	// = Stream: options and socket; SocketChannel > DatagramChannel; Socket socket > DatagramSocket socket

	@Override
	public Set<SocketOption<?>> supportedOptions() {
		return Adaptors.options(StandardSocketOptions.SO_SNDBUF,
			StandardSocketOptions.SO_RCVBUF, StandardSocketOptions.SO_REUSEADDR,
			StandardSocketOptions.SO_BROADCAST);
	}

	@Override
	public MembershipKey join(InetAddress group, NetworkInterface via) {
		throw new UnsupportedOperationException("no multicast in a simulation");
	}

	@Override
	public MembershipKey join(InetAddress group, NetworkInterface via, InetAddress from) {
		throw new UnsupportedOperationException("no multicast in a simulation");
	}
}
