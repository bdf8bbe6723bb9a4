// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Set;

/*
 * The network of a simulation: nodes with addresses, ports, and the messages that are under way,
 * as a queue of events on the simulated clock. A message arrives after a delay that the seed
 * draws. Lost messages and messages across a partition do not arrive. A stream (Stream) then
 * sends again, as TCP does; a datagram (Packets) is gone.
 *
 * Only the carrier's thread uses it: in program code, and when the clock moves.
 */
final class Network {
	static final long MICRO = 1_000, MILLI = 1_000_000, SECOND = 1_000_000_000;

	private static final class Event {
		final long at;
		final long number;
		final Runnable what;

		Event(long at, long number, Runnable what) {
			this.at = at;
			this.number = number;
			this.what = what;
		}
	}

	private final Run run;
	private final Random draw;
	private final PriorityQueue<Event> events = new PriorityQueue<>((a, b) ->
		a.at != b.at ? Long.compare(a.at, b.at) : Long.compare(a.number, b.number));
	private long numbers;
	private final Map<String, Node> nodes = new LinkedHashMap<>();
	/** The listeners and the datagram channels, by address and port. */
	private final Map<String, Object> ports = new HashMap<>();
	private int ephemeral = 32_768;
	/** The side of a partition on which a node is; 0 if it is not here. */
	private final Map<Node, Integer> sides = new HashMap<>();
	private final Set<List<Node>> cut = new HashSet<>();
	long least = 100 * MICRO;
	long most = 2 * MILLI;
	double loss;
	double twice;

	Network(Run run, Random draw) {
		this.run = run;
		this.draw = draw;
	}

	/* --- nodes --- */

	Node node(String name) {
		return nodes.computeIfAbsent(name, n -> new Node(run, n, address(n,
			nodes.size() + 1)));
	}

	private static InetAddress address(String name, int k) {
		try {
			return InetAddress.getByAddress(name, new byte[] {10, 0, (byte) (k >> 8), (byte) k});
		} catch (UnknownHostException e) {
			throw new IllegalStateException(e);
		}
	}

	/** Returns the node of that name; null: there is none. */
	Node named(String host) {
		return nodes.get(host);
	}

	/** Returns the node that has the address, as seen from `from`; null: there is none. */
	Node at(Node from, InetAddress a) {
		if (a.isLoopbackAddress() || a.isAnyLocalAddress())
			return from;
		for (Node n : nodes.values())
			if (n.address.equals(a))
				return n;
		return null;
	}

	/* --- ports --- */

	private static String key(Node n, int port, boolean stream) {
		return n.name + (stream ? "/tcp/" : "/udp/") + port;
	}

	/** Returns null if the port is free. */
	Object owner(Node n, int port, boolean stream) {
		return ports.get(key(n, port, stream));
	}

	/** Takes a port, or any free one if port is 0. Returns the port, or -1 if it is in use. */
	int take(Node n, int port, boolean stream, Object owner) {
		int p = port;
		while (p == 0 || port == 0 && ports.containsKey(key(n, p, stream)))
			p = ephemeral = ephemeral == 60_999 ? 32_768 : ephemeral + 1;
		return ports.putIfAbsent(key(n, p, stream), owner) == null ? p : -1;
	}

	void drop(Node n, int port, boolean stream, Object owner) {
		ports.remove(key(n, port, stream), owner);
	}

	/* --- faults --- */

	/** Separates these nodes from all others. */
	void part(Node... side) {
		for (Node n : side)
			sides.put(n, 1);
	}

	/** Stops all messages from a to b. Messages from b to a still arrive. */
	void cut(Node a, Node b) {
		List<Node> l = new ArrayList<>();
		l.add(a);
		l.add(b);
		cut.add(l);
	}

	void heal() {
		sides.clear();
		cut.clear();
	}

	/** True if a message that is sent now arrives. */
	boolean passes(Node from, Node to) {
		if (from == to)
			return true;
		List<Node> l = new ArrayList<>();
		l.add(from);
		l.add(to);
		return to.up && from.up && !cut.contains(l)
			&& sides.getOrDefault(from, 0).equals(sides.getOrDefault(to, 0))
			&& (loss == 0 || draw.nextDouble() >= loss);
	}

	boolean comesTwice() {
		return twice > 0 && draw.nextDouble() < twice;
	}

	/** Draws the nanoseconds that a message takes. */
	long delay(Node from, Node to) {
		return from == to ? 10 * MICRO + draw.nextInt((int) (10 * MICRO))
			: least + (long) (draw.nextDouble() * (most - least));
	}

	/* --- time --- */

	void after(long nanos, Runnable what) {
		events.add(new Event(run.now() + Math.max(1, nanos), numbers++, what));
	}

	/** Returns the nanoseconds to the next event; Long.MAX_VALUE: there is none. */
	long next() {
		return events.isEmpty() ? Long.MAX_VALUE : Math.max(0, events.peek().at - run.now());
	}

	/** Runs the events that are due. */
	void due() {
		while (!events.isEmpty() && events.peek().at <= run.now())
			events.poll().what.run();
	}
}
