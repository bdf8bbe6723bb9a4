// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.net.InetAddress;
import java.nio.channels.Channel;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * A machine of a simulated cluster: an address, a disk, threads, and its own classes. See
 * {@link Cluster}.
 */
public final class Node {
	final String name;
	final InetAddress address;
	final Disk disk = new Disk(this);
	final Run run;
	/** Its open channels. */
	final Set<Channel> channels = new LinkedHashSet<>();
	boolean up = true;
	/** Counts its stops. Connections of an earlier life are dead. */
	int life;

	Node(Run run, String name, InetAddress address) {
		this.run = run;
		this.name = name;
		this.address = address;
	}

	public String name() {
		return name;
	}

	public InetAddress address() {
		return address;
	}

	/** True if it runs: it was neither killed nor crashed since its last start. */
	public boolean isUp() {
		return up;
	}

	/**
	 * Stops the node. graceful: the kernel lives on, so it closes the connections and keeps the
	 * files.
	 */
	void stop(boolean graceful) {
		if (!up)
			return;
		run.bury(this);
		List<Channel> open = new ArrayList<>(channels);
		for (Channel c : open)
			if (c instanceof Stream)
				((Stream) c).die(graceful);
			else if (c instanceof Listener)
				((Listener) c).die();
			else
				((Packets) c).die();
		channels.clear();
		up = false;
		if (!graceful)
			disk.powerFailure(run.forFaults);
	}

	@Override
	public String toString() {
		return name;
	}
}
