// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NoConnectionPendingException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.channels.UnresolvedAddressException;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/*
 * One end of a connection in memory.
 *
 *   NEW --connect--> CONNECTING --the listener's answer--> OPEN --close, die--> DEAD
 *                         \--nobody listens, no answer in 127 s--> REFUSED
 *
 * Written bytes go to `out`. One message at a time is under way to the peer (pump). It carries
 * all bytes that are in `out` when it is sent, and then the end of the stream, if that was
 * reached. A message that does not get through is sent again after 200 ms, 400 ms, .. 60 s. After
 * 15 minutes the connection is dead, as with TCP. The peer's window is WINDOW bytes; a writer
 * waits if it is full.
 */
final class Stream extends SocketChannel implements VirtualSelector.Ready {
	private static final int NEW = 0, CONNECTING = 1, OPEN = 2, REFUSED = 3, DEAD = 4;
	private static final int WINDOW = 64 << 10;
	private static final long FIRST = 200 * Network.MILLI, LAST = 60 * Network.SECOND;
	private static final long GIVE_UP = 924 * Network.SECOND;
	private static final long NO_ANSWER = 127 * Network.SECOND;

	private final Network net;
	private final Node node;
	private final int life;
	private int state = NEW;
	private boolean finished;
	private InetSocketAddress local;
	private InetSocketAddress remote;
	/** The port that this end has taken, to be released; 0: none. */
	private int taken;
	/** The other end; null: not known yet. */
	private Stream peer;
	private Node far;
	private final ByteArrayOutputStream out = new ByteArrayOutputStream();
	private boolean outEnd;
	private boolean outEndSent;
	private boolean underWay;
	private int inFlight;
	private final ArrayDeque<ByteBuffer> in = new ArrayDeque<>();
	private int inBytes;
	private boolean inEnd;
	private boolean inShut;
	private boolean outShut;
	/** Why the connection no longer works; null: it works. */
	private String broken;
	private final Map<SocketOption<?>, Object> options = new HashMap<>();

	Stream(Provider p, Node node) {
		super(p);
		net = p.run().net;
		this.node = node;
		life = node.life;
		node.channels.add(this);
	}

	/** Makes the listener's end of a connection. */
	private Stream(Provider p, Node node, Stream client, int port) {
		this(p, node);
		peer = client;
		far = client.node;
		local = new InetSocketAddress(node.address, port);
		remote = client.local;
		state = OPEN;
		finished = true;
	}

	private void moved() {
		node.run.changed();
	}

	/* --- connecting --- */

	@Override
	public boolean connect(SocketAddress to) throws IOException {
		if (!isOpen())
			throw new ClosedChannelException();
		if (state != NEW)
			throw new AlreadyConnectedException();
		InetSocketAddress a = (InetSocketAddress) to;
		if (a.isUnresolved())
			throw new UnresolvedAddressException();
		if (local == null)
			bind(null);
		far = net.at(node, a.getAddress());
		remote = a;
		state = CONNECTING;
		knock(FIRST, 0);
		return false;
	}

	/** Asks for the connection, again and again until there is an answer. */
	private void knock(long pause, long waited) {
		if (state != CONNECTING)
			return;
		if (waited >= NO_ANSWER) {
			refuse("Connection timed out");
			return;
		}
		if (far != null && net.passes(node, far)) {
			net.after(net.delay(node, far), this::arrive);
			return;
		}
		net.after(pause, () -> knock(Math.min(2 * pause, LAST), waited + pause));
	}

	/** Arrives at the other node. */
	private void arrive() {
		if (state != CONNECTING)
			return;
		Object o = far.up ? net.owner(far, remote.getPort(), true) : null;
		if (o instanceof Listener && ((Listener) o).hasRoom()) {
			Stream s = new Stream((Provider) provider(), far, this, remote.getPort());
			peer = s;
			((Listener) o).add(s);
			answer(FIRST, 0, () -> {
				if (state == CONNECTING) {
					state = OPEN;
					moved();
				}
			});
		} else if (far.up) {
			answer(FIRST, 0, () -> refuse("Connection refused"));
		} else {
			knock(FIRST, 0);
		}
	}

	private void answer(long pause, long waited, Runnable then) {
		if (waited >= NO_ANSWER)
			refuse("Connection timed out");
		else if (net.passes(far, node))
			net.after(net.delay(far, node), then);
		else
			net.after(pause, () -> answer(Math.min(2 * pause, LAST), waited + pause, then));
	}

	private void refuse(String why) {
		if (state != CONNECTING)
			return;
		state = REFUSED;
		broken = why;
		moved();
	}

	@Override
	public boolean finishConnect() throws IOException {
		if (!isOpen())
			throw new ClosedChannelException();
		if (state == NEW)
			throw new NoConnectionPendingException();
		if (state == REFUSED) {
			close();
			throw new ConnectException(broken);
		}
		finished |= state == OPEN || state == DEAD;
		return finished;
	}

	/* --- bytes --- */

	/** Sends all bytes of `out`, if no message is under way. */
	private void pump() {
		if (underWay || state == CONNECTING || broken != null
				|| out.size() == 0 && (!outEnd || outEndSent))
			return;
		byte[] b = out.toByteArray();
		out.reset();
		boolean end = outEnd;
		underWay = true;
		inFlight = b.length;
		send(b, end, FIRST, 0);
	}

	private void send(byte[] b, boolean end, long pause, long waited) {
		if (node.life != life || broken != null)
			return;
		if (waited >= GIVE_UP) {
			fail("Connection timed out");
			return;
		}
		if (!net.passes(node, far)) {
			net.after(pause, () -> send(b, end, Math.min(2 * pause, LAST), waited + pause));
			return;
		}
		net.after(net.delay(node, far), () -> deliver(b, end));
	}

	/** Arrives at the peer's node. */
	private void deliver(byte[] b, boolean end) {
		underWay = false;
		inFlight = 0;
		if (far.up && (peer == null || peer.life != far.life || peer.state == DEAD)) {
			/* The peer's node does not know this connection, and answers with a reset. */
			if (b.length > 0 && net.passes(far, node))
				net.after(net.delay(far, node), () -> fail("Connection reset"));
			return;
		}
		if (!far.up) {
			underWay = true;
			inFlight = b.length;
			send(b, end, FIRST, FIRST);
			return;
		}
		if (b.length > 0) {
			peer.in.add(ByteBuffer.wrap(b));
			peer.inBytes += b.length;
		}
		if (end) {
			peer.inEnd = true;
			outEndSent = true;
		}
		moved();
		pump();
	}

	private void fail(String why) {
		if (broken == null && state == OPEN) {
			broken = why;
			moved();
		}
	}

	private int room() {
		int there = peer == null ? 0 : peer.inBytes;
		return Math.max(0, WINDOW - out.size() - inFlight - there);
	}

	@Override
	public int read(ByteBuffer to) throws IOException {
		if (!isOpen())
			throw new ClosedChannelException();
		if (!finished)
			throw new NotYetConnectedException();
		if (inShut)
			return -1;
		int n = 0;
		while (to.hasRemaining() && !in.isEmpty()) {
			ByteBuffer b = in.peek();
			int some = Math.min(to.remaining(), b.remaining());
			for (int k = 0; k < some; k++)
				to.put(b.get());
			n += some;
			if (!b.hasRemaining())
				in.poll();
		}
		inBytes -= n;
		if (n > 0) {
			moved();
			return n;
		}
		if (broken != null)
			throw new SocketException(broken);
		return !to.hasRemaining() ? 0 : inEnd ? -1 : 0;
	}

	@Override
	public long read(ByteBuffer[] to, int off, int len) throws IOException {
		long n = 0;
		for (int k = off; k < off + len; k++) {
			int some = to[k].hasRemaining() ? read(to[k]) : 0;
			if (some < 0)
				return n > 0 ? n : -1;
			n += some;
			if (to[k].hasRemaining())
				break;
		}
		return n;
	}

	@Override
	public int write(ByteBuffer from) throws IOException {
		if (!isOpen() || outShut)
			throw new ClosedChannelException();
		if (!finished)
			throw new NotYetConnectedException();
		if (broken != null)
			throw new IOException("Broken pipe");
		int n = Math.min(from.remaining(), room());
		byte[] b = new byte[n];
		from.get(b);
		out.write(b, 0, n);
		pump();
		return n;
	}

	@Override
	public long write(ByteBuffer[] from, int off, int len) throws IOException {
		long n = 0;
		for (int k = off; k < off + len; k++) {
			n += write(from[k]);
			if (from[k].hasRemaining())
				break;
		}
		return n;
	}

	@Override
	public int readyOps() {
		if (state == CONNECTING || state == NEW)
			return 0;
		int r = finished ? 0 : SelectionKey.OP_CONNECT;
		if (!in.isEmpty() || inEnd || inShut || broken != null)
			r |= SelectionKey.OP_READ;
		if (broken != null || room() > 0)
			r |= SelectionKey.OP_WRITE;
		return r;
	}

	/* --- ends --- */

	@Override
	public SocketChannel shutdownInput() {
		inShut = true;
		moved();
		return this;
	}

	@Override
	public SocketChannel shutdownOutput() {
		outShut = true;
		outEnd = true;
		pump();
		moved();
		return this;
	}

	@Override
	protected void implCloseSelectableChannel() {
		release();
		boolean unread = inBytes > 0;
		if (state == OPEN && unread && peer != null && net.passes(node, far)) {
			Stream p = peer;
			net.after(net.delay(node, far), () -> p.fail("Connection reset"));
		} else if (state == OPEN) {
			outEnd = true;
			pump();
		}
		in.clear();
		inBytes = 0;
		state = DEAD;
		moved();
	}

	private void release() {
		node.channels.remove(this);
		if (taken > 0)
			net.drop(node, taken, true, this);
		taken = 0;
	}

	/** Called when its node stops. told: the kernel sends the peer a reset. */
	void die(boolean told) {
		release();
		if (told && state == OPEN && peer != null && net.passes(node, far)) {
			Stream p = peer;
			net.after(net.delay(node, far), () -> p.fail("Connection reset"));
		}
		broken = "dead";
		state = DEAD;
	}

	/* --- properties --- */

	@Override
	public SocketChannel bind(SocketAddress to) throws IOException {
		InetSocketAddress a = (InetSocketAddress) to;
		int p = net.take(node, a == null ? 0 : a.getPort(), true, this);
		if (p < 0)
			throw new java.net.BindException("Address already in use");
		taken = p;
		local = new InetSocketAddress(a == null || a.getAddress().isAnyLocalAddress()
			? node.address : a.getAddress(), p);
		return this;
	}

	@Override
	public boolean isConnected() {
		return finished;
	}

	@Override
	public boolean isConnectionPending() {
		return state == CONNECTING || !finished && (state == OPEN || state == REFUSED);
	}

	@Override
	public SocketAddress getRemoteAddress() throws IOException {
		if (!isOpen())
			throw new ClosedChannelException();
		return finished ? remote : null;
	}

	@Override
	public SocketAddress getLocalAddress() throws IOException {
		if (!isOpen())
			throw new ClosedChannelException();
		return local;
	}

	@Override
	public Set<SocketOption<?>> supportedOptions() {
		return Adaptors.options(StandardSocketOptions.SO_SNDBUF,
			StandardSocketOptions.SO_RCVBUF, StandardSocketOptions.SO_KEEPALIVE,
			StandardSocketOptions.SO_REUSEADDR, StandardSocketOptions.SO_LINGER,
			StandardSocketOptions.TCP_NODELAY, StandardSocketOptions.IP_TOS);
	}

	/* --- options and socket --- */

	@Override
	public Socket socket() {
		return Adaptors.of(this, options);
	}

	@Override
	protected void implConfigureBlocking(boolean block) {}

	@Override
	public <T> SocketChannel setOption(SocketOption<T> name, T value) {
		options.put(name, value);
		return this;
	}

	@Override
	@SuppressWarnings("unchecked")
	public <T> T getOption(SocketOption<T> name) {
		return (T) Adaptors.option(options, name);
	}
}
