package org.ukthreads.pico.net;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import org.ukthreads.pico.Fiber;

/*
 * The channels themselves (this is the one class whose calls of them are not replaced),
 * and what the program's calls of them become.
 *
 * A channel that the program believes to block is, from its first wait on, one that does
 * not, with a port at a reactor (Port.blocking says what the program believes). A channel
 * that it made non-blocking is the JDK's business. An interrupt closes the channel.
 */
public final class Channels {
	private Channels() {}

	/** The port of a channel that the program believes to block; null: it does not. */
	private static Port port(SelectableChannel c) throws IOException {
		Port p = NetReactor.find(c);
		if (p == null) {
			if (!c.isBlocking())
				return null;
			c.configureBlocking(false);
			p = new Port(c);
			p.open();
			Port other = NetReactor.find(c);
			if (other != null)
				p = other;
		}
		return p.blocking ? p : null;
	}

	private static boolean plain(SelectableChannel c) throws IOException {
		return !Fiber.isFiber() && NetReactor.find(c) == null
			|| !c.isOpen() || port(c) == null;
	}

	private static void await(SelectableChannel c, int op) throws IOException {
		Port p = NetReactor.find(c);
		if (p == null || !c.isOpen())
			throw new AsynchronousCloseException();
		if (p.awaitInterruptibly(op)) {
			p.close();
			throw new ClosedByInterruptException();
		}
		if (!c.isOpen())
			throw new AsynchronousCloseException();
	}

	public static int read(SocketChannel c, ByteBuffer b) throws IOException {
		if (plain(c) || !b.hasRemaining())
			return c.read(b);
		for (;;) {
			int n = c.read(b);
			if (n != 0)
				return n;
			await(c, SelectionKey.OP_READ);
		}
	}

	public static int write(SocketChannel c, ByteBuffer b) throws IOException {
		if (plain(c))
			return c.write(b);
		int all = 0;
		while (b.hasRemaining()) {
			int n = c.write(b);
			all += n;
			if (n == 0)
				await(c, SelectionKey.OP_WRITE);
		}
		return all;
	}

	public static boolean connect(SocketChannel c, SocketAddress to) throws IOException {
		if (plain(c))
			return c.connect(to);
		boolean done = c.connect(to);
		while (!done) {
			await(c, SelectionKey.OP_CONNECT);
			done = c.finishConnect();
		}
		return true;
	}

	public static SocketChannel open(SocketAddress to) throws IOException {
		SocketChannel c = SocketChannel.open();
		try {
			connect(c, to);
			return c;
		} catch (IOException | RuntimeException e) {
			closeSelectable(c);
			throw e;
		}
	}

	public static SocketChannel accept(ServerSocketChannel c) throws IOException {
		if (plain(c))
			return c.accept();
		for (;;) {
			SocketChannel a = c.accept();
			if (a != null)
				return a;
			await(c, SelectionKey.OP_ACCEPT);
		}
	}

	public static SocketAddress receive(DatagramChannel c, ByteBuffer b) throws IOException {
		if (plain(c))
			return c.receive(b);
		for (;;) {
			SocketAddress from = c.receive(b);
			if (from != null)
				return from;
			await(c, SelectionKey.OP_READ);
		}
	}

	/** close(), which must wake who waits. */
	public static void closeSelectable(SelectableChannel c) throws IOException {
		Port p = NetReactor.find(c);
		if (p != null)
			p.close();
		else
			c.close();
	}

	public static boolean isBlocking(SelectableChannel c) {
		Port p = NetReactor.find(c);
		return p != null ? p.blocking : c.isBlocking();
	}

	public static SelectableChannel configureBlocking(SelectableChannel c, boolean on)
			throws IOException {
		Port p = NetReactor.find(c);
		if (p == null)
			return c.configureBlocking(on);
		p.blocking = on;
		return c;
	}

	public static SelectionKey register(SelectableChannel c, Selector s, int ops)
			throws ClosedChannelException {
		return register(c, s, ops, null);
	}

	public static SelectionKey register(SelectableChannel c, Selector s, int ops, Object with)
			throws ClosedChannelException {
		Port p = NetReactor.find(c);
		if (p != null && p.blocking)
			throw new IllegalBlockingModeException();
		return c.register(s, ops, with);
	}

	/* --- for the package --- */

	static Socket adaptor(SocketChannel c) {
		return c.socket();
	}

	static ServerSocket adaptor(ServerSocketChannel c) {
		return c.socket();
	}

	static void unblock(SelectableChannel c) throws IOException {
		c.configureBlocking(false);
	}

	static int rawRead(SocketChannel c, ByteBuffer b) throws IOException {
		return c.read(b);
	}

	static int rawWrite(SocketChannel c, ByteBuffer b) throws IOException {
		return c.write(b);
	}

	static boolean rawConnect(SocketChannel c, SocketAddress to) throws IOException {
		return c.connect(to);
	}

	static boolean rawFinish(SocketChannel c) throws IOException {
		return c.finishConnect();
	}

	static SocketChannel rawAccept(ServerSocketChannel c) throws IOException {
		return c.accept();
	}

	static void rawClose(SelectableChannel c) throws IOException {
		c.close();
	}

	static DatagramSocket adaptor(DatagramChannel c) {
		return c.socket();
	}

	static SocketAddress rawReceive(DatagramChannel c, ByteBuffer b) throws IOException {
		return c.receive(b);
	}

	static int rawSend(DatagramChannel c, ByteBuffer b, SocketAddress to) throws IOException {
		return c.send(b, to);
	}

	static void rawConnect(DatagramChannel c, SocketAddress to) throws IOException {
		c.connect(to);
	}

	/** The adaptor wants a channel that blocks; nothing waits, a byte goes out at once. */
	static void urgent(SocketChannel c, int data) throws IOException {
		c.socket().sendUrgentData(data);
	}
}
