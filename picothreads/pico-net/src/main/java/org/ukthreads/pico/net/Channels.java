// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Reader;
import java.io.Writer;
import java.lang.reflect.InvocationTargetException;
import java.net.ConnectException;
import java.net.DatagramSocket;
import java.net.NoRouteToHostException;
import java.net.ProtocolFamily;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.Channel;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.FileChannel;
import java.nio.channels.GatheringByteChannel;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.ScatteringByteChannel;
import java.nio.channels.SeekableByteChannel;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.channels.spi.SelectorProvider;
import java.nio.charset.Charset;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CharsetEncoder;
import java.util.Objects;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Transport;
import org.ukthreads.pico.io.PicoInputStreamReader;
import org.ukthreads.pico.io.PicoOutputStreamWriter;

/*
 * Replacements for the program's calls of channels. In this class alone, calls of channels are
 * not replaced, so they reach the channels themselves.
 *
 * If the program takes a channel for blocking, the channel becomes non-blocking at its first
 * wait and gets a port at a reactor (Port.blocking is the mode that the program sees). The JDK
 * handles a channel that the program has made non-blocking. An interrupt closes the channel.
 */
public final class Channels {
	private Channels() {}

	/**
	 * Returns the port of a channel that the program takes for blocking. Null: the program has
	 * made it non-blocking, or the channel belongs to another provider, and our selectors do
	 * not accept it.
	 */
	private static Port port(SelectableChannel c) throws IOException {
		Port p = NetReactor.find(c);
		if (p == null && c.provider() == Transport.provider())
			p = firstPort(c);
		return p != null && p.blocking ? p : null;
	}

	/**
	 * Makes the port, one thread at a time: between the two steps the channel looks as if the
	 * program had made it non-blocking.
	 */
	private static Port firstPort(SelectableChannel c) throws IOException {
		synchronized (c.blockingLock()) {
			Port p = NetReactor.find(c);
			if (p != null || !c.isBlocking())
				return p;
			c.configureBlocking(false);
			p = new Port(c);
			p.open();
			Port other = NetReactor.find(c);
			return other != null ? other : p;
		}
	}

	private static boolean plain(SelectableChannel c) throws IOException {
		return !Fiber.isFiber() && NetReactor.find(c) == null
			|| !c.isOpen() || port(c) == null;
	}

	/**
	 * Returns the port for an operation that may wait. If the thread is already interrupted,
	 * the channel is closed at once.
	 */
	private static Port enter(SelectableChannel c) throws IOException {
		Port p = port(c);
		if (p == null)
			throw new IllegalBlockingModeException();
		if (Thread.currentThread().isInterrupted()) {
			p.close();
			throw new ClosedByInterruptException();
		}
		return p;
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

	/* --- reading: sockets, connected datagram channels, pipes; others directly --- */

	private static boolean waits(Channel c) throws IOException {
		return c instanceof SelectableChannel && !plain((SelectableChannel) c);
	}

	public static int read(ReadableByteChannel c, ByteBuffer b) throws IOException {
		if (!b.hasRemaining() || !waits(c))
			return c.read(b);
		SelectableChannel s = (SelectableChannel) c;
		synchronized (enter(s).inLock) {
			for (;;) {
				int n = c.read(b);
				if (n != 0)
					return n;
				await(s, SelectionKey.OP_READ);
			}
		}
	}

	public static long read(ScatteringByteChannel c, ByteBuffer[] b) throws IOException {
		return read(c, b, 0, b.length);
	}

	public static long read(ScatteringByteChannel c, ByteBuffer[] b, int off, int n)
			throws IOException {
		if (!waits(c) || room(b, off, n) == 0)
			return c.read(b, off, n);
		SelectableChannel s = (SelectableChannel) c;
		synchronized (enter(s).inLock) {
			for (;;) {
				long r = c.read(b, off, n);
				if (r != 0)
					return r;
				await(s, SelectionKey.OP_READ);
			}
		}
	}

	private static long room(ByteBuffer[] b, int off, int n) {
		if (off < 0 || n < 0 || off > b.length - n)
			throw new IndexOutOfBoundsException();
		long all = 0;
		for (int k = off; k < off + n; k++)
			all += b[k].remaining();
		return all;
	}

	/* --- writing --- */

	public static int write(WritableByteChannel c, ByteBuffer b) throws IOException {
		if (!waits(c))
			return c.write(b);
		SelectableChannel s = (SelectableChannel) c;
		int all = 0;
		synchronized (enter(s).outLock) {
			do {
				int n = c.write(b);
				all += n;
				if (n == 0 && b.hasRemaining())
					await(s, SelectionKey.OP_WRITE);
			} while (b.hasRemaining());
		}
		return all;
	}

	public static long write(GatheringByteChannel c, ByteBuffer[] b) throws IOException {
		return write(c, b, 0, b.length);
	}

	public static long write(GatheringByteChannel c, ByteBuffer[] b, int off, int n)
			throws IOException {
		if (!waits(c))
			return c.write(b, off, n);
		SelectableChannel s = (SelectableChannel) c;
		long all = 0;
		synchronized (enter(s).outLock) {
			while (room(b, off, n) > 0) {
				long w = c.write(b, off, n);
				all += w;
				if (w == 0)
					await(s, SelectionKey.OP_WRITE);
			}
		}
		return all;
	}

	/** Transfers everything, as to a blocking channel. */
	public static long transferTo(FileChannel f, long at, long count, WritableByteChannel c)
			throws IOException {
		if (!waits(c))
			return f.transferTo(at, count, c);
		SelectableChannel s = (SelectableChannel) c;
		long all = 0;
		synchronized (enter(s).outLock) {
			while (all < count && at + all < f.size()) {
				long n = f.transferTo(at + all, count - all, c);
				all += n;
				if (n == 0)
					await(s, SelectionKey.OP_WRITE);
			}
		}
		return all;
	}

	public static long transferFrom(FileChannel f, ReadableByteChannel c, long at, long count)
			throws IOException {
		if (!waits(c))
			return f.transferFrom(c, at, count);
		if (at > f.size())
			return 0;
		ByteBuffer b = ByteBuffer.allocate((int) Math.min(count, 8192));
		long all = 0;
		while (all < count) {
			b.clear();
			b.limit((int) Math.min(b.capacity(), count - all));
			if (read(c, b) < 0)
				break;
			b.flip();
			while (b.hasRemaining())
				all += f.write(b, at + all);
		}
		return all;
	}

	/* --- connections --- */

	public static boolean connect(SocketChannel c, SocketAddress to) throws IOException {
		if (plain(c))
			return c.connect(to);
		synchronized (enter(c).outLock) {
			boolean done = c.connect(to);
			try {
				while (!done) {
					await(c, SelectionKey.OP_CONNECT);
					done = c.finishConnect();
				}
			} catch (AsynchronousCloseException e) {
				throw e;
			} catch (IOException e) {
				closeSelectable(c);
				throw unnamed(e);
			}
		}
		return true;
	}

	/**
	 * Returns the exception without the name of the failed call. Some JDKs (21.0.13) append it
	 * to the message if connect had to wait, but not if connect is a single call, which this
	 * imitates.
	 */
	static IOException unnamed(IOException e) {
		String call = " (connect failed)", says = e.getMessage();
		if (says == null || !says.endsWith(call))
			return e;
		says = says.substring(0, says.length() - call.length());
		IOException same;
		if (e.getClass() == ConnectException.class)
			same = new ConnectException(says);
		else if (e.getClass() == NoRouteToHostException.class)
			same = new NoRouteToHostException(says);
		else
			return e;
		same.setStackTrace(e.getStackTrace());
		return same;
	}

	public static SocketChannel open(SocketAddress to) throws IOException {
		SocketChannel c = isUnix(Objects.requireNonNull(to)) ? openUnix()
			: Transport.provider().openSocketChannel();
		try {
			connect(c, to);
			return c;
		} catch (IOException | RuntimeException e) {
			closeSelectable(c);
			throw e;
		}
	}

	/** An address of Java 16. */
	private static boolean isUnix(SocketAddress a) {
		return a.getClass().getName().equals("java.net.UnixDomainSocketAddress");
	}

	private static SocketChannel openUnix() throws IOException {
		try {
			return (SocketChannel) SelectorProvider.class
				.getMethod("openSocketChannel", ProtocolFamily.class)
				.invoke(Transport.provider(), StandardProtocolFamily.valueOf("UNIX"));
		} catch (InvocationTargetException e) {
			if (e.getCause() instanceof IOException)
				throw (IOException) e.getCause();
			if (e.getCause() instanceof RuntimeException)
				throw (RuntimeException) e.getCause();
			throw (Error) e.getCause();
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	public static SocketChannel accept(ServerSocketChannel c) throws IOException {
		if (plain(c))
			return c.accept();
		synchronized (enter(c).inLock) {
			for (;;) {
				SocketChannel a = c.accept();
				if (a != null)
					return a;
				await(c, SelectionKey.OP_ACCEPT);
			}
		}
	}

	/** Shuts the input down and wakes the thread that reads, so that it notices. */
	public static SocketChannel shutdownInput(SocketChannel c) throws IOException {
		c.shutdownInput();
		wake(c);
		return c;
	}

	public static SocketChannel shutdownOutput(SocketChannel c) throws IOException {
		c.shutdownOutput();
		wake(c);
		return c;
	}

	private static void wake(SelectableChannel c) {
		Port p = NetReactor.find(c);
		if (p != null)
			p.wake();
	}

	/* --- datagrams --- */

	public static SocketAddress receive(DatagramChannel c, ByteBuffer b) throws IOException {
		if (plain(c))
			return c.receive(b);
		synchronized (enter(c).inLock) {
			for (;;) {
				SocketAddress from = c.receive(b);
				if (from != null)
					return from;
				await(c, SelectionKey.OP_READ);
			}
		}
	}

	public static int send(DatagramChannel c, ByteBuffer b, SocketAddress to)
			throws IOException {
		if (plain(c))
			return c.send(b, to);
		boolean empty = !b.hasRemaining();
		synchronized (enter(c).outLock) {
			for (;;) {
				int n = c.send(b, to);
				if (n > 0 || empty)
					return n;
				await(c, SelectionKey.OP_WRITE);
			}
		}
	}

	/* --- the sockets of channels --- */

	public static Socket socket(SocketChannel c) throws IOException {
		Port p = c.isOpen() ? port(c) : null;
		if (p == null)
			return c.socket();
		synchronized (p) {
			if (p.face == null)
				p.face = new PicoSocket(new Conduit(c, p), true);
			return (Socket) p.face;
		}
	}

	public static ServerSocket socket(ServerSocketChannel c) throws IOException {
		Port p = c.isOpen() ? port(c) : null;
		if (p == null)
			return c.socket();
		synchronized (p) {
			if (p.face == null)
				p.face = new PicoServerSocket(c, p);
			return (ServerSocket) p.face;
		}
	}

	public static DatagramSocket socket(DatagramChannel c) throws IOException {
		Port p = c.isOpen() ? port(c) : null;
		if (p == null)
			return c.socket();
		synchronized (p) {
			if (p.face == null)
				p.face = new PicoDatagramSocket(c, p);
			return (DatagramSocket) p.face;
		}
	}

	/* --- java.nio.channels.Channels --- */

	public static InputStream newInputStream(ReadableByteChannel c) {
		return c instanceof FileChannel ? java.nio.channels.Channels.newInputStream(c)
			: new Bytes(c).in;
	}

	public static OutputStream newOutputStream(WritableByteChannel c) {
		return c instanceof FileChannel ? java.nio.channels.Channels.newOutputStream(c)
			: new Bytes(c).out;
	}

	public static Reader newReader(ReadableByteChannel c, CharsetDecoder d, int min) {
		return new PicoInputStreamReader(newInputStream(c), d);
	}

	public static Reader newReader(ReadableByteChannel c, String charset) {
		return newReader(c, Charset.forName(charset));
	}

	public static Reader newReader(ReadableByteChannel c, Charset charset) {
		return newReader(c, charset.newDecoder(), -1);
	}

	public static Writer newWriter(WritableByteChannel c, CharsetEncoder e, int min) {
		return new PicoOutputStreamWriter(newOutputStream(c), e);
	}

	public static Writer newWriter(WritableByteChannel c, String charset) {
		return newWriter(c, Charset.forName(charset));
	}

	public static Writer newWriter(WritableByteChannel c, Charset charset) {
		return newWriter(c, charset.newEncoder(), -1);
	}

	/** Streams over a blocking channel, or over a channel that the program implements. */
	private static final class Bytes extends Duct {
		private final Channel channel;

		Bytes(Channel channel) {
			this.channel = Objects.requireNonNull(channel, "ch");
		}

		private void check() {
			if (channel instanceof SelectableChannel && !isBlocking((SelectableChannel) channel))
				throw new IllegalBlockingModeException();
		}

		@Override
		int read(byte[] b, int off, int len) throws IOException {
			check();
			return Channels.read((ReadableByteChannel) channel, ByteBuffer.wrap(b, off, len));
		}

		@Override
		void write(byte[] b, int off, int len) throws IOException {
			check();
			for (ByteBuffer x = ByteBuffer.wrap(b, off, len); x.hasRemaining();)
				if (Channels.write((WritableByteChannel) channel, x) <= 0)
					throw new RuntimeException("no bytes written");
		}

		@Override
		int available() throws IOException {
			if (!(channel instanceof SeekableByteChannel))
				return 0;
			SeekableByteChannel s = (SeekableByteChannel) channel;
			return (int) Math.min(Integer.MAX_VALUE, Math.max(0, s.size() - s.position()));
		}

		@Override
		void close() throws IOException {
			Channels.close(channel);
		}
	}

	/* --- closing, and the blocking mode --- */

	/** Replaces close() where it is called through an interface. */
	public static void close(Channel c) throws IOException {
		if (c instanceof SelectableChannel)
			closeSelectable((SelectableChannel) c);
		else
			c.close();
	}

	public static void close(Closeable c) throws IOException {
		if (c instanceof SelectableChannel)
			closeSelectable((SelectableChannel) c);
		else
			c.close();
	}

	public static void close(AutoCloseable c) throws Exception {
		if (c instanceof SelectableChannel)
			closeSelectable((SelectableChannel) c);
		else
			c.close();
	}

	/** Closes the channel and wakes the threads that wait for it. */
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
		synchronized (c.blockingLock()) {
			Port p = NetReactor.find(c);
			if (p == null)
				return c.configureBlocking(on);
			p.blocking = on;
			return c;
		}
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

	/** Sends one urgent byte through the adaptor; this does not wait. */
	static void urgent(SocketChannel c, int data) throws IOException {
		c.socket().sendUrgentData(data);
	}
}
