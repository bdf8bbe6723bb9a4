package org.ukthreads.pico.net;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.InvocationTargetException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
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
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSocket;

/*
 * SSLSocket: an SSLEngine between the program and a socket that parks.
 *
 * Locks: shake (one handshake at a time) > in, out (a direction of the engine and of the
 * socket). A reader that must answer (KeyUpdate, close_notify) takes `out` as well; a
 * writer never takes `in`, except to shake hands.
 */
final class PicoSSLSocket extends OverSocket {
	private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

	private final SSLContext context;
	private final boolean autoClose;
	private volatile SSLEngine engine;
	private final Object shake = new Object();
	private final Object inLock = new Object();
	private final Object outLock = new Object();
	private volatile boolean done;
	private volatile boolean closed;
	private volatile IOException broken;
	/** Under inLock; ready to be read. */
	private ByteBuffer netIn = NOTHING;
	private ByteBuffer appIn = NOTHING;
	private final List<HandshakeCompletedListener> listeners = new CopyOnWriteArrayList<>();

	PicoSSLSocket(SSLContext context, Socket base, String host, int port, boolean autoClose) {
		super(base);
		this.context = context;
		this.autoClose = autoClose;
		SSLEngine e = host == null ? context.createSSLEngine()
			: context.createSSLEngine(host, port);
		e.setUseClientMode(true);
		engine = e;
	}

	/** A server's end; `read` are bytes that were taken from the socket before. */
	PicoSSLSocket(SSLContext context, Socket base, SSLEngine like, byte[] read,
			boolean autoClose) {
		super(base);
		this.context = context;
		this.autoClose = autoClose;
		engine = Tls.like(like, context.createSSLEngine());
		netIn = ByteBuffer.wrap(read);
	}

	/** Keeps what was set, with the peer's name for SNI, resumption and verification. */
	private void named(SocketAddress to) {
		if (!(to instanceof InetSocketAddress))
			return;
		InetSocketAddress a = (InetSocketAddress) to;
		engine = Tls.like(engine, context.createSSLEngine(a.getHostString(), a.getPort()));
	}

	@Override
	public void startHandshake() throws IOException {
		check();
		if (!isConnected())
			throw new SocketException("Socket is not connected");
		synchronized (shake) {
			if (done) {
				engine.beginHandshake();
				synchronized (outLock) {
					while (engine.getHandshakeStatus() == HandshakeStatus.NEED_WRAP)
						wrap(NOTHING);
				}
				return;
			}
			if (broken != null)
				throw broken;
			try {
				engine.beginHandshake();
				loop();
				done = true;
			} catch (SocketTimeoutException e) {
				/* What has come so far is kept: it may be tried again. */
				throw e;
			} catch (IOException e) {
				broken = e;
				alert();
				closed = true;
				base.close();
				throw e;
			}
		}
		for (HandshakeCompletedListener l : listeners) {
			HandshakeCompletedEvent e = new HandshakeCompletedEvent(this, engine.getSession());
			new Thread(() -> l.handshakeCompleted(e)).start();
		}
	}

	/** Tells the peer what is wrong, if the engine has something to say. */
	private void alert() {
		try {
			synchronized (outLock) {
				for (int k = 0; k < 4 && engine.getHandshakeStatus()
						== HandshakeStatus.NEED_WRAP; k++)
					wrap(NOTHING);
			}
		} catch (IOException e) {
			/* It is gone, then. */
			return;
		}
	}

	private void loop() throws IOException {
		for (;;) {
			HandshakeStatus s = engine.getHandshakeStatus();
			switch (s) {
			case NEED_WRAP:
				synchronized (outLock) {
					wrap(NOTHING);
				}
				break;
			case NEED_TASK:
				tasks();
				break;
			case FINISHED:
			case NOT_HANDSHAKING:
				return;
			default:
				try {
					record();
				} catch (EOFException e) {
					throw (IOException) new SSLHandshakeException(
						"Remote host terminated the handshake").initCause(e);
				}
				break;
			}
		}
	}

	private void record() throws IOException {
		synchronized (inLock) {
			if (unwrap().getStatus() == Status.CLOSED)
				throw new EOFException("SSL peer shut down incorrectly");
		}
	}

	private void tasks() {
		for (Runnable r; (r = engine.getDelegatedTask()) != null;)
			r.run();
	}

	/** Under outLock: one record goes out. */
	private SSLEngineResult wrap(ByteBuffer from) throws IOException {
		ByteBuffer to = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
		SSLEngineResult r = engine.wrap(from, to);
		if (to.position() > 0)
			base.getOutputStream().write(to.array(), 0, to.position());
		return r;
	}

	/** Under inLock: one record comes in; its data, if any, is in appIn. */
	private SSLEngineResult unwrap() throws IOException {
		for (;;) {
			int size = engine.getSession().getApplicationBufferSize();
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
		int n = base.getInputStream().read(b.array(), b.position(), b.remaining());
		if (n < 0) {
			b.flip();
			netIn = b;
			throw new EOFException("SSL peer shut down incorrectly");
		}
		b.position(b.position() + n);
		b.flip();
		netIn = b;
	}

	private void ready() throws IOException {
		check();
		if (!done)
			startHandshake();
	}

	/** A forged or garbled record: the peer is told, and nothing after it is believed. */
	private void breakOff(SSLException e) {
		broken = e;
		alert();
		closed = true;
		try {
			base.close();
		} catch (IOException x) {
			e.addSuppressed(x);
		}
	}

	/** A record that was not right is not an end of the stream. */
	private void whole() throws SSLException {
		IOException e = broken;
		if (done && e != null)
			throw new SSLException("Connection has closed: " + e, e);
	}

	private void check() throws SocketException {
		if (isClosed())
			throw new SocketException("Socket is closed");
	}

	private int read(byte[] b, int off, int len) throws IOException {
		whole();
		ready();
		synchronized (inLock) {
			while (!appIn.hasRemaining()) {
				whole();
				if (closed)
					throw new SocketException("Socket is closed");
				if (engine.isInboundDone())
					return -1;
				SSLEngineResult r;
				try {
					r = unwrap();
				} catch (EOFException e) {
					/* No good-bye: taken for the end, as the JDK does. */
					return -1;
				} catch (SSLException e) {
					breakOff(e);
					throw e;
				}
				if (r.getStatus() == Status.CLOSED)
					return appIn.hasRemaining() ? take(b, off, len) : -1;
				after();
			}
			return take(b, off, len);
		}
	}

	/** What a record after the handshake asks for. */
	private void after() throws IOException {
		for (;;) {
			HandshakeStatus s = engine.getHandshakeStatus();
			if (s == HandshakeStatus.NEED_TASK) {
				tasks();
			} else if (s == HandshakeStatus.NEED_WRAP) {
				synchronized (outLock) {
					wrap(NOTHING);
				}
			} else {
				return;
			}
		}
	}

	private int take(byte[] b, int off, int len) {
		int n = Math.min(len, appIn.remaining());
		appIn.get(b, off, n);
		return n;
	}

	private void write(byte[] b, int off, int len) throws IOException {
		ready();
		ByteBuffer from = ByteBuffer.wrap(b, off, len);
		synchronized (outLock) {
			while (from.hasRemaining()) {
				if (engine.isOutboundDone())
					throw new SocketException("Socket output is shutdown");
				wrap(from);
			}
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
			s.check();
			return s.appIn.remaining();
		}

		@Override
		void close() throws IOException {
			s.close();
		}
	}

	@Override
	public InputStream getInputStream() throws IOException {
		check();
		if (!isConnected())
			throw new SocketException("Socket is not connected");
		return streams.in;
	}

	@Override
	public OutputStream getOutputStream() throws IOException {
		check();
		if (!isConnected())
			throw new SocketException("Socket is not connected");
		return streams.out;
	}

	@Override
	public void close() throws IOException {
		if (closed)
			return;
		closed = true;
		try {
			if (done) {
				engine.closeOutbound();
				synchronized (outLock) {
					for (int k = 0; k < 4 && !engine.isOutboundDone(); k++)
						wrap(NOTHING);
				}
			}
		} catch (IOException e) {
			/* The peer is gone: nobody to say good-bye to. */
			done = false;
		} finally {
			if (autoClose)
				base.close();
		}
	}

	@Override
	public void shutdownOutput() throws IOException {
		ready();
		engine.closeOutbound();
		synchronized (outLock) {
			while (!engine.isOutboundDone())
				wrap(NOTHING);
		}
	}

	@Override
	public void shutdownInput() throws IOException {
		base.shutdownInput();
	}

	@Override
	public boolean isClosed() {
		return closed || base.isClosed();
	}

	/* --- the engine's --- */

	@Override
	public SSLSession getSession() {
		try {
			if (!done)
				ready();
		} catch (IOException e) {
			/* As the JDK's: a session of no cipher. */
			return engine.getSession();
		}
		return engine.getSession();
	}

	@Override
	public SSLSession getHandshakeSession() {
		return engine.getHandshakeSession();
	}

	@Override
	public void addHandshakeCompletedListener(HandshakeCompletedListener l) {
		listeners.add(l);
	}

	@Override
	public void removeHandshakeCompletedListener(HandshakeCompletedListener l) {
		if (!listeners.remove(l))
			throw new IllegalArgumentException("no such listener");
	}

	@Override
	public SSLParameters getSSLParameters() {
		return engine.getSSLParameters();
	}

	@Override
	public void setSSLParameters(SSLParameters p) {
		engine.setSSLParameters(p);
	}

	/** ALPN came with Java 9 (and late updates of 8). */
	public String getApplicationProtocol() {
		return (String) later("getApplicationProtocol");
	}

	public String getHandshakeApplicationProtocol() {
		return (String) later("getHandshakeApplicationProtocol");
	}

	/** Server: picks one of the protocols that the client offers. Java 9, as above. */
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
	public String[] getSupportedCipherSuites() {
		return engine.getSupportedCipherSuites();
	}

	@Override
	public String[] getEnabledCipherSuites() {
		return engine.getEnabledCipherSuites();
	}

	@Override
	public void setEnabledCipherSuites(String[] s) {
		engine.setEnabledCipherSuites(s);
	}

	@Override
	public String[] getSupportedProtocols() {
		return engine.getSupportedProtocols();
	}

	@Override
	public String[] getEnabledProtocols() {
		return engine.getEnabledProtocols();
	}

	@Override
	public void setEnabledProtocols(String[] p) {
		engine.setEnabledProtocols(p);
	}

	@Override
	public void setUseClientMode(boolean on) {
		engine.setUseClientMode(on);
	}

	@Override
	public boolean getUseClientMode() {
		return engine.getUseClientMode();
	}

	@Override
	public void setNeedClientAuth(boolean on) {
		engine.setNeedClientAuth(on);
	}

	@Override
	public boolean getNeedClientAuth() {
		return engine.getNeedClientAuth();
	}

	@Override
	public void setWantClientAuth(boolean on) {
		engine.setWantClientAuth(on);
	}

	@Override
	public boolean getWantClientAuth() {
		return engine.getWantClientAuth();
	}

	@Override
	public void setEnableSessionCreation(boolean on) {
		engine.setEnableSessionCreation(on);
	}

	@Override
	public boolean getEnableSessionCreation() {
		return engine.getEnableSessionCreation();
	}

	@Override
	public void connect(SocketAddress to, int millis) throws IOException {
		base.connect(to, millis);
		named(to);
	}

	@Override
	public boolean isOutputShutdown() {
		return base.isOutputShutdown() || engine.isOutboundDone();
	}

	@Override
	public String toString() {
		return "SSLSocket[hostname=" + engine.getPeerHost() + ", port=" + getPort() + "]";
	}
}
