// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.IOException;
import java.net.ProtocolFamily;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;

/** Makes channels and selectors in memory, on the node that asks. Pipes are the system's. */
final class Provider extends SelectorProvider {
	private final Run run;

	Provider(Run run) {
		this.run = run;
	}

	Run run() {
		return run;
	}

	@Override
	public DatagramChannel openDatagramChannel() {
		return new Packets(this, run.node());
	}

	@Override
	public DatagramChannel openDatagramChannel(ProtocolFamily family) {
		return openDatagramChannel();
	}

	@Override
	public Pipe openPipe() throws IOException {
		return SelectorProvider.provider().openPipe();
	}

	@Override
	public AbstractSelector openSelector() {
		return new VirtualSelector(this);
	}

	@Override
	public ServerSocketChannel openServerSocketChannel() {
		return new Listener(this, run.node());
	}

	@Override
	public SocketChannel openSocketChannel() {
		return new Stream(this, run.node());
	}
}
