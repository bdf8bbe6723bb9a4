// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.IOException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import org.ukthreads.pico.Transport;

/** Replaces the static open() of channels and selectors. */
public final class Opens {
	private Opens() {}

	public static SocketChannel open() throws IOException {
		return Transport.provider().openSocketChannel();
	}

	public static ServerSocketChannel openServer() throws IOException {
		return Transport.provider().openServerSocketChannel();
	}

	public static DatagramChannel openDatagram() throws IOException {
		return Transport.provider().openDatagramChannel();
	}

	public static Selector openSelector() throws IOException {
		return Transport.provider().openSelector();
	}
}
