// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import org.ukthreads.pico.Transport;

/**
 * Host names in a simulation. Each node has its own name, and is also localhost to itself. No
 * other names exist. Also replaces `new InetSocketAddress(..)`, which would ask the system.
 */
public final class Names implements Transport.Names {
	private final Run run;

	Names(Run run) {
		this.run = run;
	}

	@Override
	public InetAddress[] find(String host) throws UnknownHostException {
		if (host.equalsIgnoreCase("localhost"))
			return new InetAddress[] {InetAddress.getLoopbackAddress()};
		Node n = run.net.named(host);
		if (n == null)
			throw new UnknownHostException(host + ": the simulation has no node of this name");
		return new InetAddress[] {n.address};
	}

	@Override
	public InetAddress local() {
		return run.node().address;
	}

	@Override
	public String name(InetAddress a) {
		Node n = run.net.at(run.node(), a);
		return n == null ? a.getHostAddress() : a.isLoopbackAddress() ? "localhost" : n.name;
	}

	@Override
	public boolean isReachable(InetAddress a) {
		Node n = run.net.at(run.node(), a);
		return n != null && n.up && run.net.passes(run.node(), n);
	}

	/* --- replaces constructors --- */

	public static InetSocketAddress make(String host, int port) {
		Run r = Sim.current;
		if (r == null || !r.sim().network || host == null
				|| host.matches("[0-9.]*|.*:.*"))
			return new InetSocketAddress(host, port);
		try {
			return new InetSocketAddress(Transport.names().find(host)[0], port);
		} catch (UnknownHostException e) {
			return InetSocketAddress.createUnresolved(host, port);
		}
	}
}
