// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetBoundException;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** A listening port of a node. */
final class Listener extends ServerSocketChannel implements VirtualSelector.Ready {
	private final Network net;
	private final Node node;
	private final ArrayDeque<Stream> waiting = new ArrayDeque<>();
	private InetSocketAddress local;
	private int backlog;
	private final Map<SocketOption<?>, Object> options = new HashMap<>();

	Listener(Provider p, Node node) {
		super(p);
		net = p.run().net;
		this.node = node;
		node.channels.add(this);
	}

	boolean hasRoom() {
		return waiting.size() < backlog;
	}

	void add(Stream s) {
		waiting.add(s);
		node.run.changed();
	}

	@Override
	public ServerSocketChannel bind(SocketAddress to, int most) throws IOException {
		if (!isOpen())
			throw new ClosedChannelException();
		InetSocketAddress a = to == null ? new InetSocketAddress(0) : (InetSocketAddress) to;
		int p = net.take(node, a.getPort(), true, this);
		if (p < 0)
			throw new BindException("Address already in use");
		local = new InetSocketAddress(a.getAddress(), p);
		backlog = most < 1 ? 50 : most;
		return this;
	}

	@Override
	public SocketChannel accept() throws IOException {
		if (!isOpen())
			throw new ClosedChannelException();
		if (local == null)
			throw new NotYetBoundException();
		return waiting.poll();
	}

	@Override
	public int readyOps() {
		return waiting.isEmpty() ? 0 : SelectionKey.OP_ACCEPT;
	}

	@Override
	protected void implCloseSelectableChannel() throws IOException {
		node.channels.remove(this);
		if (local != null)
			net.drop(node, local.getPort(), true, this);
		for (Stream s : waiting)
			s.close();
		waiting.clear();
		node.run.changed();
	}

	void die() {
		if (local != null)
			net.drop(node, local.getPort(), true, this);
		waiting.clear();
	}

	@Override
	public SocketAddress getLocalAddress() throws IOException {
		if (!isOpen())
			throw new ClosedChannelException();
		return local;
	}

	// = Stream: options and socket; SocketChannel > ServerSocketChannel; Socket socket > ServerSocket socket

	@Override
	public Set<SocketOption<?>> supportedOptions() {
		return Adaptors.options(StandardSocketOptions.SO_RCVBUF,
			StandardSocketOptions.SO_REUSEADDR);
	}
}
