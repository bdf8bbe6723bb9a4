// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import org.ukthreads.pico.Entry;
import org.ukthreads.pico.Loaders;
import org.ukthreads.pico.PicoThread;

/**
 * The nodes of a simulated cluster, and the faults that can happen to them. A node is a machine.
 * It has an address (10.0.0.n), a name, a disk, and a program with its own classes. The program
 * that is simulated is the node "main". It starts the other nodes, and the run ends when it ends.
 *
 * <p>Everything follows the seed. Only the simulated program may call this, from within the
 * simulation; here() throws an IllegalStateException elsewhere.
 */
public final class Cluster {
	private final Run run;

	private Cluster(Run run) {
		this.run = run;
	}

	/** Returns the cluster of the running simulation. */
	public static Cluster here() {
		Run r = Sim.current;
		if (r == null)
			throw new IllegalStateException("no simulation is running");
		return new Cluster(r);
	}

	/** Returns the node of that name. A new node is stopped. */
	public Node node(String name) {
		Node n = run.net.named(name);
		if (n == null) {
			n = run.net.node(name);
			n.up = false;
		}
		return n;
	}

	/** Starts a program on a node that is down. The node's first thread runs it. */
	public Node start(String name, Runnable program) {
		Node n = node(name);
		if (n.up)
			throw new IllegalStateException(name + " is already up");
		n.up = true;
		PicoThread t = new PicoThread(null, program, name);
		run.startOn(n, t::start);
		return n;
	}

	/**
	 * Starts a main class on a node, with its own classes: the node shares no static field with
	 * other nodes, and keeps none from before its last stop. Needs {@link Sim#loader}, which the
	 * command and the JUnit extension set.
	 */
	public Node start(String name, String mainClass, String... args) {
		if (run.sim().loader == null)
			throw new IllegalStateException("set a loader first: see Sim.loader");
		try {
			ClassLoader l = run.sim().loader.make();
			Runnable program = Entry.task(l.loadClass(mainClass), args);
			Loaders.program(l);
			return start(name, program);
		} catch (RuntimeException e) {
			throw e;
		} catch (Exception e) {
			throw new IllegalStateException(mainClass + " on " + name, e);
		}
	}

	/** Kills the program (kill -9): its threads end, its connections are reset, its files stay. */
	public void kill(Node n) {
		n.stop(true);
	}

	/**
	 * Cuts the power. The other nodes hear nothing from the node any more. A part of what was not
	 * synced is lost, as the seed draws, and the last write that remains may be torn.
	 */
	public void crash(Node n) {
		n.stop(false);
	}

	/**
	 * Separates these nodes from all others: no message passes between the two sides until
	 * heal().
	 */
	public void part(Node... side) {
		run.net.part(side);
	}

	/** Stops all messages from a to b. Messages from b to a still arrive. */
	public void cut(Node a, Node b) {
		run.net.cut(a, b);
	}

	/** Ends all partitions. */
	public void heal() {
		run.net.heal();
	}

	/**
	 * Sets the least and the most nanoseconds that a message takes. The default is 100 us to 2
	 * ms.
	 */
	public void delay(long least, long most) {
		if (least < 0 || most < least)
			throw new IllegalArgumentException(least + " to " + most);
		run.net.least = least;
		run.net.most = most;
	}

	/**
	 * Sets which part of the messages is lost, from 0 to 1. Streams send again, datagrams do not.
	 */
	public void loss(double part) {
		run.net.loss = part;
	}

	/** Sets which part of the datagrams arrives twice, from 0 to 1. */
	public void twice(double part) {
		run.net.twice = part;
	}

	/** Returns a time from 0 to below nanos, drawn by the seed: when a fault is to happen. */
	public long chance(long nanos) {
		return (long) (run.forFaults.nextDouble() * nanos);
	}
}
