// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import org.ukthreads.pico.Entry;
import org.ukthreads.pico.Loaders;
import org.ukthreads.pico.PicoThread;

/**
 * Nodes of a simulated cluster, and what goes wrong with them. A node is a machine: an address
 * (10.0.0.n, and a name), a disk, and a program with classes of its own. The program that the
 * simulation runs is the node "main"; it starts the others, and when it ends, all is over.
 *
 * <p>All of it follows the seed. To be called from within a simulation, by its program;
 * IllegalStateException elsewhere.
 */
public final class Cluster {
	private final Run run;

	private Cluster(Run run) {
		this.run = run;
	}

	/** Of the simulation that runs. */
	public static Cluster here() {
		Run r = Sim.current;
		if (r == null)
			throw new IllegalStateException("no simulation runs");
		return new Cluster(r);
	}

	/** The node of that name, stopped if it is new. */
	public Node node(String name) {
		Node n = run.net.named(name);
		if (n == null) {
			n = run.net.node(name);
			n.up = false;
		}
		return n;
	}

	/** Starts a program on a node, which is up then: its first thread runs it. */
	public Node start(String name, Runnable program) {
		Node n = node(name);
		if (n.up)
			throw new IllegalStateException(name + " is up");
		n.up = true;
		PicoThread t = new PicoThread(null, program, name);
		run.startOn(n, t::start);
		return n;
	}

	/**
	 * Starts a main class on a node, with classes of its own: no static field is shared with
	 * other nodes, or left from its life before. Needs {@link Sim#loader}, which the command and
	 * the JUnit extension bring along.
	 */
	public Node start(String name, String mainClass, String... args) {
		if (run.sim().loader == null)
			throw new IllegalStateException("no loader: see Sim.loader");
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

	/** kill -9: its threads are gone, its connections reset, its files as they were. */
	public void kill(Node n) {
		n.stop(true);
	}

	/**
	 * The power fails: nobody hears from it any more, and of what was not synced a part, drawn
	 * by the seed, is lost; the last write that is left may be torn.
	 */
	public void crash(Node n) {
		n.stop(false);
	}

	/** These on one side, all others on the other: nothing gets through, until heal(). */
	public void part(Node... side) {
		run.net.part(side);
	}

	/** Nothing gets from a to b any more; the other way is open. */
	public void cut(Node a, Node b) {
		run.net.cut(a, b);
	}

	/** No partitions any more. */
	public void heal() {
		run.net.heal();
	}

	/** Nanoseconds that a message takes, at least and at most; 100 us to 2 ms unless told. */
	public void delay(long least, long most) {
		if (least < 0 || most < least)
			throw new IllegalArgumentException(least + " to " + most);
		run.net.least = least;
		run.net.most = most;
	}

	/** Part of the messages that are lost, from 0 to 1: streams send again, datagrams do not. */
	public void loss(double part) {
		run.net.loss = part;
	}

	/** Part of the datagrams that arrive twice. */
	public void twice(double part) {
		run.net.twice = part;
	}

	/** Up to so many nanoseconds from now something happens, as the seed has it. */
	public long chance(long nanos) {
		return (long) (run.forFaults.nextDouble() * nanos);
	}
}
