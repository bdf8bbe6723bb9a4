// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.lang.reflect.InvocationTargetException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiFunction;
import javax.net.ssl.HandshakeCompletedEvent;
import javax.net.ssl.HandshakeCompletedListener;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLEngineResult.Status;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLProtocolException;
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSocket;

/*
 * SSLSocket: an SSLEngine between the program and a socket that parks. Its state after each way
 * of closing is that of the JDK (SSLSocketImpl, TransportContext):
 *
 *   begun -> done            the first handshake; the engine handles later ones
 *   inClosed, outClosed      we read, or write, nothing more
 *   notified                 the peer has sent close_notify, or closed without it
 *   broken                   an error: all that follows it is ignored
 *   closed                   as isClosed() says
 *
 * TLS 1.3 closes its halves one by one; 1.2 answers a close_notify with its own. close() does
 * not send user_canceled, which SSLEngine cannot send.
 *
 * Lock order: shake (one handshake at a time) > in > out (a direction of the engine and of the
 * socket) > tasks (the engine's own, which call key and trust managers). A writer never takes
 * `in`, except to shake hands. close() waits for `out`, at most SO_LINGER if that is set;
 * before TLS 1.3 and without autoClose it also waits, under `in`, for the peer's close_notify.
 */
final class PicoSSLSocket extends OverSocket {
	private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);
	private static final boolean STRICT =
		Boolean.getBoolean("com.sun.net.ssl.requireCloseNotify");
	/** The most bytes that a record needs beyond its data, with any cipher. */
	private static final int AROUND = 96;
	private static final int HEADER = 5;

	private final SSLContext context;
	/** Whether close() closes the base; true, too, for a base that we have made. */
	private final boolean autoClose;
	private final Object shake = new Object();
	private final ReentrantLock in = new ReentrantLock();
	private final ReentrantLock out = new ReentrantLock();
	private final ReentrantLock tasks = new ReentrantLock();
	private volatile boolean begun;
	private volatile boolean done;
	private volatile boolean inClosed;
	private volatile boolean outClosed;
	private volatile boolean notified;
	private volatile SSLException broken;
	private volatile boolean closed;
	/** The base's streams. The base no longer returns them when it is shut down. */
	private InputStream netInput;
	private OutputStream netOutput;
	/** Guarded by `in`; ready to be read. */
	private ByteBuffer netIn = NOTHING;
	private volatile ByteBuffer appIn = NOTHING;
	/**
	 * The limit for records that is set by SSLParameters; negative: none was set. The engine
	 * does not get it, because it would apply it to the peer's records, too.
	 */
	private volatile int packet = -1;
	private final Set<HandshakeCompletedListener> listeners = new LinkedHashSet<>();

	PicoSSLSocket(SSLContext context, Socket base, String host, int port, boolean autoClose) {
		super(base);
		this.context = context;
		this.autoClose = autoClose;
		SSLEngine e = base.isConnected() ? engine(host) : context.createSSLEngine();
		e.setUseClientMode(true);
		engine = e;
	}

	/**
	 * Makes the server's end of a connection; `read` are bytes that were read from the socket
	 * before.
	 */
	PicoSSLSocket(SSLContext context, Socket base, SSLEngine like, byte[] read,
			boolean autoClose) {
		super(base);
		this.context = context;
		this.autoClose = autoClose;
		engine = Tls.like(like, engine(null));
		setSSLParameters(engine.getSSLParameters());
		netIn = ByteBuffer.wrap(read);
	}

	/** Makes an engine that knows the peer's name, for SNI, resumption and verification. */
	private SSLEngine engine(String host) {
		String h = host != null && !host.isEmpty() ? host
			: new InetSocketAddress(base.getInetAddress(), 0).getHostString();
		return context.createSSLEngine(h, base.getPort());
	}

	/* --- the handshake --- */

	@Override
	public void startHandshake() throws IOException {
		handshake(true);
	}

	/** again: after a timeout it may be tried once more. */
	private void handshake(boolean again) throws IOException {
		if (!isConnected())
			throw new SocketException("Socket is not connected");
		synchronized (shake) {
			if (over())
				throw new SocketException("Socket has been closed or broken");
			try {
				open();
				begun = true;
				engine.beginHandshake();
				if (done)
					flush();
				else
					loop();
			} catch (InterruptedIOException e) {
				/* The part of the handshake that was received is kept. */
				throw again ? e : fatal(new SSLException("Couldn't kickstart handshaking", e));
			} catch (IOException | RuntimeException e) {
				throw failed(e);
			}
		}
	}

	private boolean over() {
		return broken != null || inClosed || outClosed;
	}

	private void ensure(boolean again) throws IOException {
		if (done || over())
			return;
		synchronized (shake) {
			if (!done && !over())
				handshake(again);
		}
	}

	private void open() throws IOException {
		if (netInput == null) {
			netInput = base.getInputStream();
			netOutput = base.getOutputStream();
		}
	}

	private void loop() throws IOException {
		while (!inClosed) {
			switch (engine.getHandshakeStatus()) {
			case NEED_WRAP:
				flush();
				/* Another thread may have closed that half. */
				if (engine.getHandshakeStatus() == HandshakeStatus.NEED_WRAP)
					record();
				break;
			case NEED_TASK:
				tasks();
				break;
			case FINISHED:
			case NOT_HANDSHAKING:
				done = true;
				completed();
				return;
			default:
				record();
				break;
			}
		}
	}

	private void completed() {
		List<HandshakeCompletedListener> l;
		synchronized (listeners) {
			l = new ArrayList<>(listeners);
		}
		if (l.isEmpty())
			return;
		HandshakeCompletedEvent e = new HandshakeCompletedEvent(this, engine.getSession());
		new Thread(() -> {
			for (HandshakeCompletedListener x : l)
				x.handshakeCompleted(e);
		}, "HandshakeCompletedNotify-Thread").start();
	}

	/**
	 * Runs the engine's tasks. A thread that finds none waits until those of other threads are
	 * done.
	 */
	private void tasks() {
		tasks.lock();
		try {
			for (Runnable r; (r = engine.getDelegatedTask()) != null;)
				r.run();
		} finally {
			tasks.unlock();
		}
	}

	/* --- records --- */

	/** Sends everything that the engine has to send; true: that ended a handshake. */
	private boolean flush() throws IOException {
		boolean finished = false;
		/*
		 * With nothing to send, do not wait for a writer, which may wait until this thread
		 * reads.
		 */
		if (engine.getHandshakeStatus() != HandshakeStatus.NEED_WRAP)
			return false;
		out.lock();
		try {
			while (engine.getHandshakeStatus() == HandshakeStatus.NEED_WRAP) {
				SSLEngineResult r = wrap(NOTHING);
				if (r.getHandshakeStatus() == HandshakeStatus.FINISHED)
					finished = true;
				else if (r.bytesProduced() == 0)
					break;
			}
		} finally {
			out.unlock();
		}
		return finished;
	}

	/** Sends one record. The caller holds `out`. */
	private SSLEngineResult wrap(ByteBuffer from) throws IOException {
		for (int size = engine.getSession().getPacketBufferSize();; size *= 2) {
			ByteBuffer to = ByteBuffer.allocate(size);
			SSLEngineResult r = engine.wrap(from, to);
			if (to.position() > 0)
				netOutput.write(to.array(), 0, to.position());
			if (r.getStatus() != Status.BUFFER_OVERFLOW)
				return r;
		}
	}

	/** Receives one record and does what it asks for. */
	private void record() throws IOException {
		in.lock();
		try {
			SSLEngineResult r;
			try {
				r = unwrap();
			} catch (EOFException e) {
				ended(e);
				return;
			}
			if (r.getStatus() == Status.CLOSED) {
				notified = true;
				inClosed = true;
				if (!outClosed)
					bye(false);
			} else if (done) {
				after(r);
			}
		} finally {
			in.unlock();
		}
	}

	/** Does what a record after the handshake asks for. */
	private void after(SSLEngineResult r) throws IOException {
		while (engine.getHandshakeStatus() == HandshakeStatus.NEED_TASK)
			tasks();
		boolean finished = flush();
		if ((finished || r.getHandshakeStatus() == HandshakeStatus.FINISHED) && !late())
			completed();
	}

	/** Returns true for TLS 1.3. */
	private boolean late() {
		return engine.getSession().getProtocol().equals("TLSv1.3");
	}

	/** Called when the peer has closed the connection without close_notify. */
	private void ended(EOFException e) throws IOException {
		if (!done)
			throw (IOException) new SSLHandshakeException(
				"Remote host terminated the handshake").initCause(e);
		if (STRICT)
			throw (IOException) new SSLProtocolException(
				"Remote host terminated the connection").initCause(e);
		notified = true;
		shutdownInput();
	}

	/** Receives one record and adds its data, if any, to appIn. The caller holds `in`. */
	private SSLEngineResult unwrap() throws IOException {
		for (int size = engine.getSession().getApplicationBufferSize();;) {
			ByteBuffer to = ByteBuffer.allocate(size);
			SSLEngineResult r = engine.unwrap(netIn, to);
			if (to.position() > 0) {
				to.flip();
				ByteBuffer all = ByteBuffer.allocate(appIn.remaining() + to.remaining());
				all.put(appIn).put(to).flip();
				appIn = all;
			}
			switch (r.getStatus()) {
			case BUFFER_UNDERFLOW:
				fill();
				break;
			case BUFFER_OVERFLOW:
				size *= 2;
				break;
			default:
				return r;
			}
		}
	}

	private void fill() throws IOException {
		int room = Math.max(engine.getSession().getPacketBufferSize(), netIn.remaining() * 2);
		ByteBuffer b = ByteBuffer.allocate(room);
		b.put(netIn);
		int n = netInput.read(b.array(), b.position(), missing(b));
		if (n > 0)
			b.position(b.position() + n);
		b.flip();
		netIn = b;
		if (n < 0)
			throw new EOFException("SSL peer shut down incorrectly");
	}

	/**
	 * Returns how many bytes to read: not beyond the record, if the socket is used without TLS
	 * later.
	 */
	private int missing(ByteBuffer b) {
		int n = b.position();
		if (autoClose || n >= HEADER && (b.get(0) < 20 || b.get(0) > 24))
			return b.remaining();
		int all = n < HEADER ? HEADER : HEADER + (b.getShort(3) & 0xffff);
		return Math.min(b.remaining(), all - n);
	}

	/* --- data --- */

	private boolean ended() throws SSLException {
		SSLException e = broken;
		if (e != null)
			throw new SSLException("Connection has closed: " + e, e);
		return inClosed || notified;
	}

	private int read(byte[] b, int off, int len) throws IOException {
		if (ended())
			return -1;
		ensure(true);
		in.lock();
		try {
			if (!done || broken != null || inClosed)
				throw new SocketException("Connection or inbound has closed");
			while (!appIn.hasRemaining() && !inClosed)
				next();
			int n = Math.min(len, appIn.remaining());
			appIn.get(b, off, n);
			return n == 0 ? -1 : n;
		} finally {
			in.unlock();
		}
	}

	/** Receives a record for a reader; an error ends the connection. */
	private void next() throws IOException {
		try {
			record();
		} catch (InterruptedIOException e) {
			throw e;
		} catch (IOException | RuntimeException e) {
			throw failed(e);
		}
	}

	private void write(byte[] b, int off, int len) throws IOException {
		if (len == 0)
			return;
		ensure(true);
		if (!done || broken != null || outClosed)
			throw new SocketException("Connection or outbound has closed");
		try {
			deliver(b, off, len);
		} catch (SSLException e) {
			throw fatal(e);
		}
	}

	private void deliver(byte[] b, int off, int len) throws IOException {
		int most = packet <= 0 ? len : Math.max(1, packet - AROUND);
		out.lock();
		try {
			for (int n = 0; n < len;) {
				if (outClosed || engine.isOutboundDone())
					throw new SocketException("Connection or outbound has been closed");
				SSLEngineResult r = wrap(ByteBuffer.wrap(b, off + n, Math.min(most, len - n)));
				n += r.bytesConsumed();
				/* A handshake may run in between. */
				if (r.getHandshakeStatus() == HandshakeStatus.NEED_TASK)
					tasks();
			}
		} finally {
			out.unlock();
		}
	}

	/* --- errors --- */

	/** Ends the connection after an error, tells the peer, and returns the exception to throw. */
	private IOException failed(Exception e) {
		if (e instanceof SocketException) {
			fatal(new SSLException(e.getMessage(), e));
			return (IOException) e;
		}
		if (e instanceof SSLException)
			return fatal((SSLException) e);
		return fatal(new SSLException(e.getMessage(), e));
	}

	private SSLException fatal(SSLException e) {
		SSLException x = e;
		/* The JDK's sockets have another message for it. */
		if ("Unrecognized SSL message, plaintext connection?".equals(e.getMessage()))
			x = new SSLException("Unsupported or unrecognized SSL message");
		synchronized (listeners) {
			if (broken != null)
				return x;
			broken = x;
		}
		inClosed = true;
		alert();
		outClosed = true;
		try {
			shutdown();
		} catch (IOException y) {
			x.addSuppressed(y);
		}
		return x;
	}

	/** Tells the peer what is wrong, if the engine has something to send. */
	private void alert() {
		try {
			if (!begun || !within(1))
				return;
			try {
				flush();
			} finally {
				out.unlock();
			}
		} catch (IOException e) {
			/* The connection is gone. */
			return;
		}
	}

	/** Tries to take `out` within that time. */
	private boolean within(int seconds) {
		boolean interrupted = Thread.interrupted();
		try {
			return out.tryLock() || out.tryLock(seconds, TimeUnit.SECONDS);
		} catch (InterruptedException e) {
			interrupted = true;
			return false;
		} finally {
			if (interrupted)
				Thread.currentThread().interrupt();
		}
	}

	private final Duct streams = new Streams(this);

	private static final class Streams extends Duct {
		private final PicoSSLSocket s;

		Streams(PicoSSLSocket s) {
			this.s = s;
		}

		@Override
		int read(byte[] b, int off, int len) throws IOException {
			return s.read(b, off, len);
		}

		@Override
		void write(byte[] b, int off, int len) throws IOException {
			s.write(b, off, len);
		}

		@Override
		int available() throws IOException {
			return s.ended() ? 0 : s.appIn.remaining();
		}

		@Override
		void close() throws IOException {
			s.close();
		}
	}

	private void check() throws SocketException {
		if (closed)
			throw new SocketException("Socket is closed");
		if (!isConnected())
			throw new SocketException("Socket is not connected");
	}

	@Override
	public InputStream getInputStream() throws IOException {
		check();
		if (inClosed)
			throw new SocketException("Socket input is already shutdown");
		return streams.in;
	}

	@Override
	public OutputStream getOutputStream() throws IOException {
		check();
		if (outClosed)
			throw new SocketException("Socket output is already shutdown");
		return streams.out;
	}

	/* --- closing --- */

	@Override
	public void close() throws IOException {
		if (closed)
			return;
		try {
			if (isConnected()) {
				if (!isOutputShutdown())
					closeOut();
				if (!isInputShutdown())
					closeIn(done && !late());
			}
		} catch (IOException e) {
			/* The peer is gone, or does not read: it cannot be told. */
			return;
		} finally {
			closeBase();
		}
	}

	private void closeBase() throws IOException {
		if (closed)
			return;
		closed = true;
		if (autoClose) {
			drain(false);
			base.close();
		}
	}

	private void closeOut() throws IOException {
		bye(true);
		if (!isInputShutdown())
			closeIn(begun && !(done && late()));
	}

	/** receipt: the peer answers our close_notify with its own. */
	private void closeIn(boolean receipt) throws IOException {
		if (receipt) {
			try {
				shutdown();
			} finally {
				if (!isInputShutdown())
					shutdownInput(false);
			}
			return;
		}
		if (!inClosed)
			drain(done && getSoTimeout() > 0);
		inClosed = true;
		if (autoClose && !base.isInputShutdown())
			base.shutdownInput();
	}

	private void shutdown() throws IOException {
		if (closed)
			return;
		try {
			if (!autoClose && done && !notified && broken == null && !isInputShutdown())
				awaitBye();
		} finally {
			closeBase();
		}
	}

	/**
	 * Waits for the peer's close_notify: the socket stays in use, and must contain none of our
	 * records.
	 */
	private void awaitBye() throws IOException {
		in.lock();
		try {
			while (!inClosed)
				next();
		} finally {
			in.unlock();
		}
	}

	/** Discards unread input, which would make the kernel reset the connection. */
	private void drain(boolean wait) {
		InputStream from = netInput;
		if (from == null || base.isInputShutdown() || !in.tryLock())
			return;
		try {
			byte[] b = new byte[1024];
			if (wait && from.available() == 0)
				from.read(b);
			while (from.available() > 0 && from.read(b) >= 0)
				continue;
		} catch (IOException e) {
			/* There is nothing more to read. */
			return;
		} finally {
			in.unlock();
		}
	}

	/** Sends close_notify; or, if not `first`, the engine's answer to that of the peer. */
	private void bye(boolean first) throws IOException {
		int linger = base.getSoLinger();
		if (linger < 0) {
			out.lock();
		} else if (!within(linger)) {
			if (!base.isOutputShutdown()) {
				if (!autoClose)
					throw new SSLException(
						"SO_LINGER timeout, close_notify message cannot be sent.");
				base.shutdownOutput();
			}
			engine.getSession().invalidate();
			return;
		}
		try {
			if (first)
				engine.closeOutbound();
			if (begun)
				flush();
		} catch (IOException e) {
			/* The peer cannot receive it. */
			first = true;
		} finally {
			try {
				if (first || engine.isOutboundDone()) {
					outClosed = true;
					if (autoClose && !base.isOutputShutdown())
						base.shutdownOutput();
				}
			} finally {
				out.unlock();
			}
		}
	}

	@Override
	public void shutdownOutput() throws IOException {
		if (isOutputShutdown())
			return;
		if (!outClosed)
			bye(true);
		if (autoClose && !base.isOutputShutdown())
			base.shutdownOutput();
	}

	@Override
	public void shutdownInput() throws IOException {
		shutdownInput(true);
	}

	private void shutdownInput(boolean check) throws IOException {
		if (isInputShutdown())
			return;
		try {
			if (check && !notified && begun)
				throw new SSLException("closing inbound before receiving peer's close_notify");
		} finally {
			boolean was = inClosed;
			inClosed = true;
			/* In TLS 1.2 a close_notify is answered. */
			if (!was && notified && !outClosed && begun && !late())
				bye(true);
			if (autoClose && !base.isInputShutdown())
				base.shutdownInput();
		}
	}

	@Override
	public boolean isInputShutdown() {
		return inClosed && (!autoClose || base.isInputShutdown());
	}

	@Override
	public boolean isOutputShutdown() {
		return outClosed && (!autoClose || base.isOutputShutdown());
	}

	@Override
	public boolean isClosed() {
		return closed;
	}

	/* --- delegated to the engine --- */

	@Override
	public SSLSession getSession() {
		try {
			ensure(false);
		} catch (IOException e) {
			/* As the JDK does: a session without a cipher. */
			return context.createSSLEngine().getSession();
		}
		return done ? engine.getSession() : context.createSSLEngine().getSession();
	}

	@Override
	public SSLSession getHandshakeSession() {
		return engine.getHandshakeSession();
	}

	@Override
	public void addHandshakeCompletedListener(HandshakeCompletedListener l) {
		if (l == null)
			throw new IllegalArgumentException("listener is null");
		synchronized (listeners) {
			listeners.add(l);
		}
	}

	@Override
	public void removeHandshakeCompletedListener(HandshakeCompletedListener l) {
		if (l == null)
			throw new IllegalArgumentException("listener is null");
		synchronized (listeners) {
			if (listeners.isEmpty())
				throw new IllegalArgumentException("no listeners");
			if (!listeners.remove(l))
				throw new IllegalArgumentException("listener not registered");
		}
	}

	@Override
	public SSLParameters getSSLParameters() {
		SSLParameters p = engine.getSSLParameters();
		return packet < 0 ? p : Tls.packet(p, packet);
	}

	@Override
	public void setSSLParameters(SSLParameters p) {
		int n = Tls.packet(p);
		try {
			engine.setSSLParameters(Tls.packet(p, 0));
		} finally {
			Tls.packet(p, n);
		}
		packet = n;
	}

	/** Java 9 and late updates of Java 8 have ALPN. */
	public String getApplicationProtocol() {
		return (String) later("getApplicationProtocol");
	}

	public String getHandshakeApplicationProtocol() {
		return (String) later("getHandshakeApplicationProtocol");
	}

	/**
	 * Sets the function by which a server picks one of the client's protocols. Java 9, as
	 * above.
	 */
	public void setHandshakeApplicationProtocolSelector(
			BiFunction<SSLSocket, List<String>, String> selector) {
		this.selector = selector;
		BiFunction<SSLEngine, List<String>, String> f =
			selector == null ? null : (e, offered) -> selector.apply(this, offered);
		try {
			SSLEngine.class.getMethod("setHandshakeApplicationProtocolSelector",
				BiFunction.class).invoke(engine, f);
		} catch (ReflectiveOperationException e) {
			throw new UnsupportedOperationException("ALPN", e);
		}
	}

	public BiFunction<SSLSocket, List<String>, String>
			getHandshakeApplicationProtocolSelector() {
		return selector;
	}

	private BiFunction<SSLSocket, List<String>, String> selector;

	private Object later(String method) {
		try {
			return SSLEngine.class.getMethod(method).invoke(engine);
		} catch (NoSuchMethodException | IllegalAccessException e) {
			throw new UnsupportedOperationException(method, e);
		} catch (InvocationTargetException e) {
			throw new IllegalStateException(e.getCause());
		}
	}

	@Override
	public void connect(SocketAddress to, int millis) throws IOException {
		base.connect(to, millis);
		if (to instanceof InetSocketAddress)
			engine = Tls.like(engine, engine(((InetSocketAddress) to).getHostString()));
	}

	@Override
	public String toString() {
		return "SSLSocket[hostname=" + engine.getPeerHost() + ", port=" + getPort() + ", "
			+ engine.getSession() + "]";
	}
}
