/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server of the test web: one thread, one selector, and a heap of delayed answers.
 *
 * The simulated network delay costs a heap entry, not a thread. So tens of thousands of requests
 * may wait at once, and an experiment does not measure the server. Each virtual host has its own
 * loopback address (127.0.0.1, 127.0.0.2, ...) on the same port, so a crawler sees different
 * hosts without any name service.
 *
 * Invariant: a connection is in the heap exactly while its state is WAITING (see Connection).
 * Rejected: com.sun.net.httpserver, which needs a thread per delayed answer.
 */
package org.ukthreads.pico.piranha.web;

import java.io.Closeable;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;

public final class TestWeb implements Closeable {
	private static final int BACKLOG = 4096;

	private final WebGraph graph;
	private final Selector selector;
	private final List<ServerSocketChannel> listeners;
	private final int port;
	private final Site site;
	private final ConcurrentLinkedQueue<Hit> hits = new ConcurrentLinkedQueue<>();
	private final PriorityQueue<Connection> waiting = new PriorityQueue<>();
	private final ByteBuffer scratch = ByteBuffer.allocateDirect(16 << 10);
	private final boolean logging;
	private final Consumer<Hit> watcher;
	private final Thread thread;
	private volatile boolean closed;    /* any thread writes; the server's thread reads */
	private volatile long requests;     /* the server's thread writes */

	private TestWeb(WebBuilder b) throws IOException {
		graph = b.graph();
		logging = b.logging;
		watcher = b.watcher;
		selector = Selector.open();
		listeners = listen(b.port, graph.hosts());
		port = ((InetSocketAddress) listeners.get(0).getLocalAddress()).getPort();
		for (int host = 0; host < listeners.size(); host++) {
			listeners.get(host).configureBlocking(false);
			listeners.get(host).register(selector, SelectionKey.OP_ACCEPT, host);
		}
		site = new Site(graph, port, b.delayMillis * 1_000_000L, b.traps, b.crawlDelaySeconds);
		thread = new Thread(this::loop, "test-web:" + port);
		thread.setDaemon(true);
	}

	static TestWeb start(WebBuilder builder) throws IOException {
		TestWeb web = new TestWeb(builder);
		web.thread.start();
		return web;
	}

	public static String address(int host) {
		return "127.0.0." + (host + 1);
	}

	public WebGraph graph() {
		return graph;
	}

	public int port() {
		return port;
	}

	public String base(int host) {
		return "http://" + address(host) + ":" + port;
	}

	public String url(int page) {
		return base(graph.host(page)) + graph.path(page);
	}

	/** Returns all requests so far, in the order of their arrival. */
	public List<Hit> hits() {
		return Collections.unmodifiableList(new ArrayList<>(hits));
	}

	public long requests() {
		return requests;
	}

	@Override
	public void close() throws IOException {
		closed = true;
		selector.wakeup();
		try {
			thread.join(5000);
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		}
	}

	Hit record(int host, String path, String agent) {
		Hit hit = new Hit(address(host), path, agent, System.nanoTime());
		requests++;
		if (logging) {
			hits.add(hit);
		}
		watcher.accept(hit);
		return hit;
	}

	Reply reply(int host, String path, boolean close) {
		return site.reply(host, path, close);
	}

	private static List<ServerSocketChannel> listen(int wanted, int hosts) throws IOException {
		for (int attempt = 0;; attempt++) {
			List<ServerSocketChannel> open = new ArrayList<>();
			try {
				int port = wanted;
				for (int host = 0; host < hosts; host++) {
					ServerSocketChannel listener = ServerSocketChannel.open();
					open.add(listener);
					listener.bind(new InetSocketAddress(address(host), port), BACKLOG);
					port = ((InetSocketAddress) listener.getLocalAddress()).getPort();
				}
				return open;
			} catch (BindException e) {
				for (ServerSocketChannel listener : open) {
					listener.close();
				}
				if (wanted != 0 || attempt == 20) {
					throw e;
				}
			}
		}
	}

	private void loop() {
		try {
			while (!closed) {
				select();
				for (SelectionKey key : selector.selectedKeys()) {
					serve(key);
				}
				selector.selectedKeys().clear();
				sendDue();
			}
		} catch (IOException e) {
			throw new IllegalStateException("the test web's selector failed", e);
		} finally {
			shut();
		}
	}

	private void select() throws IOException {
		Connection first = waiting.peek();
		if (first == null) {
			selector.select();
			return;
		}
		long millis = (first.dueNanos - System.nanoTime() + 999_999) / 1_000_000;
		if (millis <= 0) {
			selector.selectNow();
		} else {
			selector.select(millis);
		}
	}

	private void serve(SelectionKey key) throws IOException {
		if (!key.isValid()) {
			return;
		}
		if (key.isAcceptable()) {
			accept((ServerSocketChannel) key.channel(), (Integer) key.attachment());
			return;
		}
		Connection c = (Connection) key.attachment();
		try {
			if (key.isWritable()) {
				key.interestOps(SelectionKey.OP_READ);
				write(c);
			} else if (key.isReadable()) {
				if (!c.read(scratch)) {
					drop(c);
				} else if (!c.busy() && c.next(this)) {
					waiting.add(c);
				}
			}
		} catch (IOException e) {
			drop(c);
		}
	}

	private void accept(ServerSocketChannel listener, int host) throws IOException {
		for (SocketChannel channel = listener.accept(); channel != null;
				channel = listener.accept()) {
			channel.configureBlocking(false);
			channel.socket().setTcpNoDelay(true);
			SelectionKey key = channel.register(selector, SelectionKey.OP_READ);
			key.attach(new Connection(channel, key, host));
		}
	}

	private void sendDue() {
		long now = System.nanoTime();
		while (!waiting.isEmpty() && waiting.peek().dueNanos - now <= 0) {
			Connection c = waiting.poll();
			try {
				write(c);
			} catch (IOException e) {
				drop(c);
			}
		}
	}

	private void write(Connection c) throws IOException {
		while (true) {
			if (!c.write()) {
				if (c.key.interestOps() != SelectionKey.OP_WRITE) {
					waiting.add(c);     /* another step, later */
				}
				return;
			}
			if (!c.finish()) {
				drop(c);
				return;
			}
			if (c.next(this)) {
				waiting.add(c);
			}
			return;
		}
	}

	private void drop(Connection c) {
		waiting.remove(c);
		c.abandoned();
		try {
			c.channel.close();
		} catch (IOException e) {
			// The connection is gone in either case.
		}
	}

	private void shut() {
		for (SelectionKey key : selector.keys()) {
			try {
				key.channel().close();
			} catch (IOException e) {
				// Close the others all the same.
			}
		}
		try {
			selector.close();
		} catch (IOException e) {
			// Nothing is left to close.
		}
	}
}
