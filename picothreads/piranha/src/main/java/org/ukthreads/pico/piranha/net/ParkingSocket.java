/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket of the translated crawler: `new Socket()` becomes this (META-INF/pico/replace).
 *
 * A client's socket, as far as a crawler needs one: connect, streams, time-outs, close. The
 * channel does not block; where it would, the thread parks and the carrier's Poller wakes it.
 * The crawler's own source knows java.net.Socket only, and untranslated nobody loads this.
 *
 * It stands in for a network of the runtime's own, and goes when there is one. What it lacks:
 * TLS (see Wire.secured), server sockets, datagrams.
 */
package org.ukthreads.pico.piranha.net;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;

public final class ParkingSocket extends Socket {
    private final SocketChannel channel;
    private final Waiting waiting;
    private int readMillis;

    /** Declares what Socket() does not: the JVM does not mind, and the caller is translated. */
    public ParkingSocket() throws IOException {
        super((SocketImpl) null);       /* the channel is the implementation */
        channel = SocketChannel.open();
        channel.configureBlocking(false);
        waiting = Poller.current().register(channel);
    }

    @Override
    public void connect(SocketAddress address, int timeoutMillis) throws IOException {
        long end = end(timeoutMillis);
        boolean done = channel.connect(address);
        while (!done) {
            await(SelectionKey.OP_CONNECT, end, "Connect timed out");
            done = channel.finishConnect();
        }
    }

    @Override
    public InputStream getInputStream() {
        return new In(this);
    }

    @Override
    public OutputStream getOutputStream() {
        return new Out(this);
    }

    @Override
    public InetAddress getInetAddress() {
        try {
            return ((InetSocketAddress) channel.getRemoteAddress()).getAddress();
        } catch (IOException e) {
            throw new IllegalStateException("not connected", e);
        }
    }

    @Override
    public void setSoTimeout(int millis) {
        readMillis = millis;
    }

    @Override
    public void setTcpNoDelay(boolean on) throws SocketException {
        try {
            channel.setOption(StandardSocketOptions.TCP_NODELAY, on);
        } catch (IOException e) {
            throw new SocketException(e.getMessage());
        }
    }

    @Override
    public boolean isClosed() {
        return !channel.isOpen();
    }

    @Override
    public void close() throws IOException {
        channel.close();
        waiting.wake();
    }

    private int read(ByteBuffer into) throws IOException {
        long end = end(readMillis);
        try {
            int n = channel.read(into);
            while (n == 0) {
                await(SelectionKey.OP_READ, end, "Read timed out");
                n = channel.read(into);
            }
            return n;
        } catch (ClosedChannelException e) {
            throw new SocketException("Socket closed");
        }
    }

    private void write(ByteBuffer from) throws IOException {
        try {
            channel.write(from);
            while (from.hasRemaining()) {
                await(SelectionKey.OP_WRITE, Long.MAX_VALUE, "");
                channel.write(from);
            }
        } catch (ClosedChannelException e) {
            throw new SocketException("Socket closed");
        }
    }

    /** Parks until the channel may be ready; the caller tries again in any case. */
    private void await(int operation, long end, String lateness) throws IOException {
        long left = end == Long.MAX_VALUE ? end : end - System.nanoTime();
        if (left <= 0) {
            throw new SocketTimeoutException(lateness);
        }
        waiting.park(operation, left);
        if (Thread.currentThread().isInterrupted()) {
            close();
            throw new SocketException("Closed by interrupt");
        }
    }

    private static long end(int millis) {
        return millis == 0 ? Long.MAX_VALUE
                : System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    }

    private static final class In extends InputStream {
        private final ParkingSocket socket;

        In(ParkingSocket socket) {
            this.socket = socket;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] bytes, int from, int length) throws IOException {
            return length == 0 ? 0 : socket.read(ByteBuffer.wrap(bytes, from, length));
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    private static final class Out extends OutputStream {
        private final ParkingSocket socket;

        Out(ParkingSocket socket) {
            this.socket = socket;
        }

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int from, int length) throws IOException {
            socket.write(ByteBuffer.wrap(bytes, from, length));
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }
}
