// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.ukthreads.pico.Clock;
import org.ukthreads.pico.PicoRuntime;

/** A wait that begins while another thread closes the socket. */
final class PortTest {
	/**
	 * The close comes between a reader's check and its wait. The reader must check again, and
	 * report "Socket closed".
	 */
	@Test
	void a_close_before_the_first_wait_ends_it() throws Exception {
		BlockingQueue<Object> said = new LinkedBlockingQueue<>();
		PicoRuntime rt = new PicoRuntime("port", 1, null, Clock.REAL);
		rt.fiber(() -> {
			try {
				SocketChannel c = SocketChannel.open();
				c.configureBlocking(false);
				Port p = new Port(c);
				c.close();
				said.add(p.await(SelectionKey.OP_READ, Port.NEVER));
			} catch (IOException e) {
				said.add(e);
			}
		}).start();
		assertEquals(true, said.poll(600, TimeUnit.SECONDS));
		rt.shutdown();
	}
}
