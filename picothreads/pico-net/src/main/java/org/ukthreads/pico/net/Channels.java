package org.ukthreads.pico.net;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectableChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** The channels themselves: the one class whose calls of them are not replaced. */
public final class Channels {
	private Channels() {}

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
