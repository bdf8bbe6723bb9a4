// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;

/** A stream connection with the waits, timeouts and errors of java.net.Socket. */
final class Conduit {
	/**
	 * The most bytes for one call of the channel: the JDK copies them through a buffer, which
	 * it keeps.
	 */
	private static final int MOST = 128 << 10;

	final SocketChannel channel;
	final Port port;
	/** False: the program made it as a channel. */
	private final boolean own;
	/** SO_TIMEOUT. */
	volatile int timeout;
	volatile boolean inShut;
	volatile boolean outShut;
	volatile boolean closed;
	private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);
	/**
	 * Bytes that available() had to read to count them, ready to be read. Guarded by this,
	 * which is taken inside inLock or alone, and never held during a wait.
	 */
	private ByteBuffer ahead = NOTHING;
	/** The connection was reset, and every later read says so. Guarded by this. */
	private boolean reset;

	Conduit(SocketChannel channel) throws IOException {
		this.channel = channel;
		own = true;
		Channels.unblock(channel);
		port = new Port(channel);
		Leaks.watch(this, port);
	}

	/** For a channel of the program. */
	Conduit(SocketChannel channel, Port port) {
		this.channel = channel;
		this.port = port;
		own = false;
	}

	void connect(InetSocketAddress to, int millis) throws IOException {
		long end = Port.end(millis);
		synchronized (port.outLock) {
			try {
				boolean done = Channels.rawConnect(channel, to);
				while (!done) {
					if (!port.await(SelectionKey.OP_CONNECT, end)) {
						close();
						throw new SocketTimeoutException("Connect timed out");
					}
					if (closed)
						throw new SocketException("Socket closed");
					done = Channels.rawFinish(channel);
				}
			} catch (ClosedChannelException e) {
				throw new SocketException("Socket closed");
			} catch (UnresolvedAddressException e) {
				close();
				throw new UnknownHostException(to.getHostString());
			} catch (UnsupportedAddressTypeException e) {
				close();
				throw new SocketException("Unsupported address type");
			} catch (SocketTimeoutException e) {
				throw e;
			} catch (IOException e) {
				boolean was = closed;
				close();
				if (was)
					throw new SocketException("Socket closed");
				throw own && millis == 0 ? Channels.unnamed(e) : e;
			}
		}
	}

	private void check() throws SocketException {
		if (closed || !channel.isOpen())
			throw new SocketException("Socket closed");
	}

	int read(byte[] b, int off, int len) throws IOException {
		synchronized (port.inLock) {
			check();
			long end = Port.end(timeout);
			for (;;) {
				int n = readNow(b, off, len);
				if (n != 0)
					return n;
				if (!port.await(SelectionKey.OP_READ, end))
					throw new SocketTimeoutException("Read timed out");
				check();
			}
		}
	}

	/** Reads without waiting; 0: nothing is there yet. */
	private int readNow(byte[] b, int off, int len) throws IOException {
		synchronized (this) {
			if (ahead.hasRemaining() && !inShut) {
				int n = Math.min(len, ahead.remaining());
				ahead.get(b, off, n);
				return n;
			}
			if (reset)
				throw new SocketException("Connection reset");
			if (inShut)
				return -1;
			int n;
			try {
				n = Channels.rawRead(channel, ByteBuffer.wrap(b, off, Math.min(len, MOST)));
			} catch (ClosedChannelException e) {
				throw new SocketException("Socket closed");
			} catch (IOException e) {
				check();
				reset = isReset(e);
				throw reset ? new SocketException("Connection reset") : error(e);
			}
			if (n < 0)
				check();
			return n;
		}
	}

	private static boolean isReset(IOException e) {
		return e.getMessage() != null && e.getMessage().startsWith("Connection reset");
	}

	private static SocketException error(IOException e) {
		if (e instanceof SocketException)
			return (SocketException) e;
		SocketException x = new SocketException(e.getMessage());
		x.setStackTrace(e.getStackTrace());
		return x;
	}

	void write(byte[] b, int off, int len) throws IOException {
		synchronized (port.outLock) {
			while (len > 0) {
				check();
				if (outShut)
					throw new SocketException("Broken pipe");
				int n;
				try {
					n = Channels.rawWrite(channel, ByteBuffer.wrap(b, off, Math.min(len, MOST)));
				} catch (ClosedChannelException e) {
					throw new SocketException("Socket closed");
				} catch (IOException e) {
					check();
					throw error(e);
				}
				off += n;
				len -= n;
				if (n == 0)
					port.await(SelectionKey.OP_WRITE, Port.NEVER);
			}
		}
	}

	/**
	 * Reads ahead what has arrived and counts it. Wakes a waiting reader, which must look
	 * there.
	 */
	int available() throws IOException {
		synchronized (this) {
			check();
			if (inShut)
				return 0;
			try {
				for (int had = -1; !reset && ahead.remaining() > had && ahead.remaining() < MOST;) {
					had = ahead.remaining();
					readAhead();
				}
			} catch (IOException e) {
				check();
				reset = isReset(e);
				if (!reset)
					throw error(e);
			}
			if (ahead.hasRemaining() || reset)
				port.wake();
			return ahead.remaining();
		}
	}

	private void readAhead() throws IOException {
		ByteBuffer b = 2 * ahead.remaining() < ahead.capacity() ? ahead.compact()
			: ByteBuffer.allocate(Math.max(4096, 4 * ahead.remaining())).put(ahead);
		try {
			Channels.rawRead(channel, b);
		} finally {
			b.flip();
			ahead = b;
		}
	}

	void shutdownInput() throws IOException {
		inShut = true;
		channel.shutdownInput();
		port.wake();
	}

	void shutdownOutput() throws IOException {
		outShut = true;
		channel.shutdownOutput();
		port.wake();
	}

	void close() throws IOException {
		closed = true;
		port.close();
	}
}
