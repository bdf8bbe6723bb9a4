// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Collections;
import java.util.Objects;
import java.util.Set;
import org.ukthreads.pico.Transport;

/** java.net.ServerSocket on a non-blocking channel. */
public class PicoServerSocket extends ServerSocket {
	private volatile ServerSocketChannel channel;
	private volatile Port port;
	private volatile boolean closed;
	private volatile boolean bound;
	private volatile int timeout;
	private volatile InetSocketAddress local;
	private boolean ofChannel;

	public PicoServerSocket() throws IOException {}

	public PicoServerSocket(int port) throws IOException {
		this(port, 50, null);
	}

	public PicoServerSocket(int port, int backlog) throws IOException {
		this(port, backlog, null);
	}

	public PicoServerSocket(int port, int backlog, InetAddress address) throws IOException {
		if (port < 0 || port > 0xffff)
			throw new IllegalArgumentException("Port value out of range: " + port);
		try {
			bind(new InetSocketAddress(address, port), backlog < 1 ? 50 : backlog);
		} catch (IOException | RuntimeException e) {
			close();
			throw e;
		}
	}

	/** Made for socket() of the channel. */
	PicoServerSocket(ServerSocketChannel channel, Port port) throws IOException {
		ofChannel = true;
		this.channel = channel;
		this.port = port;
	}

	private ServerSocketChannel channel() throws SocketException {
		ServerSocketChannel c = channel;
		if (c != null)
			return c;
		synchronized (this) {
			if (closed)
				throw new SocketException("Socket is closed");
			if (channel == null) {
				try {
					c = Transport.provider().openServerSocketChannel();
					Channels.unblock(c);
				} catch (IOException e) {
					throw (SocketException) new SocketException(e.getMessage())
						.initCause(e);
				}
				port = new Port(c);
				Leaks.watch(this, port);
				channel = c;
			}
			return channel;
		}
	}

	private void check() throws SocketException {
		if (isClosed())
			throw new SocketException("Socket is closed");
	}

	private ServerSocket adaptor() throws SocketException {
		check();
		return Channels.adaptor(channel());
	}

	@Override
	public void bind(SocketAddress to) throws IOException {
		bind(to, 50);
	}

	@Override
	public void bind(SocketAddress to, int backlog) throws IOException {
		check();
		if (isBound())
			throw new SocketException("Already bound");
		if (to != null && !(to instanceof InetSocketAddress))
			throw new IllegalArgumentException("Unsupported address type");
		if (to != null && ((InetSocketAddress) to).isUnresolved())
			throw new SocketException("Unresolved address");
		adaptor().bind(to == null ? new InetSocketAddress(0) : to, backlog);
		local = (InetSocketAddress) channel().getLocalAddress();
		InetSocketAddress asked = (InetSocketAddress) to;
		if (asked != null && !asked.getAddress().isAnyLocalAddress())
			local = new InetSocketAddress(asked.getAddress(), local.getPort());
		bound = true;
	}

	@Override
	public Socket accept() throws IOException {
		check();
		if (!isBound())
			throw new SocketException("Socket is not bound yet");
		return new PicoSocket(conduit(), false);
	}

	private Conduit conduit() throws IOException {
		synchronized (port.inLock) {
			long end = Port.end(timeout);
			for (;;) {
				try {
					if (isClosed())
						throw new SocketException("Socket closed");
					SocketChannel c = Channels.rawAccept(channel);
					if (c != null)
						return new Conduit(c);
				} catch (ClosedChannelException e) {
					throw new SocketException("Socket closed");
				}
				if (!port.await(SelectionKey.OP_ACCEPT, end))
					throw new SocketTimeoutException("Accept timed out");
			}
		}
	}

	/** Replaces implAccept, which is final, for the program's subclasses. */
	public static void implAccept(ServerSocket on, Socket s) throws IOException {
		if (!(on instanceof PicoServerSocket) || !(s instanceof PicoSocket))
			throw new SocketException("implAccept: unsupported sockets: " + on + ", " + s);
		((PicoSocket) s).become(((PicoServerSocket) on).conduit());
	}

	@Override
	public InetAddress getInetAddress() {
		InetSocketAddress a = local();
		return a == null ? null : a.getAddress();
	}

	private InetSocketAddress local() {
		if (local == null && ofChannel)
			local = (InetSocketAddress) Channels.adaptor(channel).getLocalSocketAddress();
		return local;
	}

	@Override
	public int getLocalPort() {
		InetSocketAddress a = local();
		return a == null ? -1 : a.getPort();
	}

	@Override
	public SocketAddress getLocalSocketAddress() {
		return local();
	}

	@Override
	public ServerSocketChannel getChannel() {
		return ofChannel ? channel : null;
	}

	@Override
	public boolean isBound() {
		return bound || local() != null;
	}

	@Override
	public boolean isClosed() {
		return closed || ofChannel && !channel.isOpen();
	}

	@Override
	public void setSoTimeout(int millis) throws SocketException {
		check();
		if (millis < 0)
			throw new IllegalArgumentException("timeout < 0");
		timeout = millis;
	}

	@Override
	public int getSoTimeout() throws IOException {
		check();
		return timeout;
	}

	// = PicoSocket: options; conduit().channel > channel(); SocketChannel > ServerSocketChannel

	// each: @Override public T m(..) throws SocketException { return adaptor().m(..); }
	void setReuseAddress(boolean on); boolean getReuseAddress();
	void setReceiveBufferSize(int size); int getReceiveBufferSize();

	@Override
	public void close() throws IOException {
		closed = true;
		Port p = port;
		if (p != null)
			p.close();
	}

	@Override
	public String toString() {
		if (!isBound())
			return "ServerSocket[unbound]";
		return "ServerSocket[addr=" + getInetAddress() + ",localport=" + getLocalPort() + "]";
	}
}
