// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.concurrent.Phaser;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Members;
import org.ukthreads.pico.Room;

/*
 * Phaser. The phasers of a tree share the root's gate and its phase; the guard of that gate
 * is the guard of all their counts.
 *
 *   arrive: --unarrived  --> 0, not the root: the parent's arrive
 *                        --> 0, the root:     advancing; onAdvance, outside of the guard,
 *                                             as it is the program's and may block;
 *                                             then phase + 1, and the waiters go on
 *
 * A child takes note of a new phase when it is next used (`seen`). arrive() ensures enough stack
 * to end the phase even if onAdvance() overflows; otherwise the phase would never end.
 */
public class PicoPhaser extends Phaser implements Room.Of {
	private static final int MAX_PARTIES = 0xffff;
	private final PicoPhaser parent;
	private final PicoPhaser root;
	private final Gate gate;
	/* All under the root's guard. */
	private int parties;
	private int unarrived;
	private int seen;
	/* Of the root. Negative: terminated. */
	private volatile int phase;
	private boolean advancing;

	public PicoPhaser() {
		this(0, null);
	}

	public PicoPhaser(int parties) {
		this(parties, null);
	}

	public PicoPhaser(Phaser parent) {
		this(0, (PicoPhaser) parent);
	}

	public PicoPhaser(Phaser parent, int parties) {
		this(parties, (PicoPhaser) parent);
		if (parent != null && parties > 0)
			enrol(parties);
	}

	/** Does not wait: the parties of a child come later. */
	private PicoPhaser(int parties, PicoPhaser parent) {
		if (parties < 0 || parties > MAX_PARTIES)
			throw new IllegalArgumentException("Illegal number of parties");
		this.parent = parent;
		root = parent == null ? this : this.parent.root;
		gate = parent == null ? new Gate(this) : root.gate;
		synchronized (gate) {
			seen = root.phase;
			if (parent == null && parties > 0)
				join(parties);
		}
	}

	@Override
	public Room room() {
		return gate;
	}

	/** Under the guard: notes a phase that has ended elsewhere. */
	private void look() {
		if (seen != root.phase) {
			seen = root.phase;
			unarrived = parties;
		}
	}

	/** Under the guard: have all arrived? Then no party joins before the next phase. */
	private boolean isThrough() {
		look();
		if (parties > 0)
			return unarrived == 0;
		return parent != null && parent.isThrough();
	}

	/** Under the guard, and not while the root advances. */
	private void join(int n) {
		look();
		if (n > MAX_PARTIES - parties)
			throw new IllegalStateException("Attempt to register more than " + MAX_PARTIES
				+ " parties for " + Members.named(this, super.toString()));
		if (parties == 0 && parent != null)
			parent.join(1);
		parties += n;
		unarrived += n;
	}

	private static final class Register extends Gate.Node {
		private static final long serialVersionUID = 1L;
		private final PicoPhaser of;
		private final int n;
		private int phase;
		private boolean late;
		private RuntimeException bad;

		Register(PicoPhaser of, int n) {
			super(0);
			this.of = of;
			this.n = n;
		}

		@Override
		boolean attempt() {
			if (of.root.advancing)
				return false;
			phase = of.root.phase;
			late = phase >= 0 && of.isThrough();
			try {
				if (phase >= 0 && !late)
					of.join(n);
			} catch (IllegalStateException e) {
				bad = e;
			}
			return true;
		}
	}

	@Override
	public int register() {
		return bulkRegister(1);
	}

	@Override
	public int bulkRegister(int n) {
		if (n < 0)
			throw new IllegalArgumentException();
		if (n == 0)
			return getPhase(this);
		return enrol(n);
	}

	private int enrol(int n) {
		for (;;) {
			Register r = new Register(this, n);
			gate.pass(r);
			if (r.bad != null)
				throw r.bad;
			if (!r.late)
				return r.phase;
			awaitAdvance(r.phase);
		}
	}

	/** Returns the phase of this arrival. If it sets last[0], the caller calls advance(). */
	private int arrive(boolean leave, boolean[] last) {
		synchronized (gate) {
			look();
			int p = root.phase;
			if (p < 0)
				return p;
			if (unarrived <= 0)
				throw new IllegalStateException(
					"Attempted arrival of unregistered party for " + this);
			count(leave, last);
			return p;
		}
	}

	private void count(boolean leave, boolean[] last) {
		look();
		unarrived--;
		if (leave)
			parties--;
		if (unarrived > 0)
			return;
		if (parent != null) {
			parent.count(parties == 0, last);
		} else {
			advancing = true;
			last[0] = true;
		}
	}

	/** By the last thread to arrive. */
	private void advance() {
		boolean end = false;
		boolean ok = false;
		try {
			end = root.onAdvance(root.phase, root.parties);
			ok = true;
		} finally {
			synchronized (gate) {
				root.advancing = false;
				if (ok && root.phase >= 0) {
					root.phase = root.phase + 1 & Integer.MAX_VALUE
						| (end ? Integer.MIN_VALUE : 0);
					root.look();
				}
				gate.serve();
			}
		}
	}

	private int arrive(boolean leave) {
		Fiber.room();
		boolean[] last = new boolean[1];
		int p = arrive(leave, last);
		if (last[0])
			advance();
		return p;
	}

	@Override
	public int arrive() {
		return arrive(false);
	}

	@Override
	public int arriveAndDeregister() {
		return arrive(true);
	}

	@Override
	public int arriveAndAwaitAdvance() {
		return awaitAdvance(arrive(false));
	}

	private static final class Next extends Gate.Node {
		private static final long serialVersionUID = 1L;
		private final PicoPhaser root;
		private final int phase;

		Next(PicoPhaser root, int phase) {
			super(1);
			this.root = root;
			this.phase = phase;
		}

		@Override
		boolean attempt() {
			return root.phase != phase;
		}
	}

	/** Null: that phase is over. All queued threads wait for the same phase. */
	private Next queued(int p) {
		synchronized (gate) {
			if (root.phase != p)
				return null;
			Next n = new Next(root, p);
			/* An error between here and the park would leave n queued. */
			Fiber.room();
			gate.add(n);
			return n;
		}
	}

	@Override
	public int awaitAdvance(int p) {
		Next n = p < 0 ? null : queued(p);
		if (n != null)
			gate.await(n);
		return p < 0 ? p : root.phase;
	}

	@Override
	public int awaitAdvanceInterruptibly(int p) throws InterruptedException {
		if (p < 0)
			return p;
		if (root.phase == p && Thread.interrupted())
			throw new InterruptedException();
		Next n = queued(p);
		if (n != null)
			gate.awaitInterruptibly(n);
		return root.phase;
	}

	@Override
	public int awaitAdvanceInterruptibly(int p, long time, TimeUnit unit)
			throws InterruptedException, TimeoutException {
		if (p < 0)
			return p;
		if (root.phase == p && Thread.interrupted())
			throw new InterruptedException();
		Next n = queued(p);
		if (n != null && !gate.awaitIn(n, unit.toNanos(time)))
			throw new TimeoutException();
		return root.phase;
	}

	@Override
	public void forceTermination() {
		synchronized (gate) {
			gate.ready();
			root.phase |= Integer.MIN_VALUE;
			gate.serve();
		}
	}

	/** Calls of Phaser.getPhase, which is final, become this. */
	public static int getPhase(Phaser p) {
		return p instanceof PicoPhaser ? ((PicoPhaser) p).root.phase : p.getPhase();
	}

	@Override
	public boolean isTerminated() {
		return root.phase < 0;
	}

	@Override
	public Phaser getParent() {
		return parent;
	}

	@Override
	public Phaser getRoot() {
		return root;
	}

	@Override
	public int getRegisteredParties() {
		synchronized (gate) {
			return parties;
		}
	}

	@Override
	public int getUnarrivedParties() {
		synchronized (gate) {
			look();
			return unarrived;
		}
	}

	@Override
	public int getArrivedParties() {
		synchronized (gate) {
			look();
			return parties - unarrived;
		}
	}

	@Override
	public String toString() {
		return Members.name(this) + '@' + Integer.toHexString(hashCode()) + "[phase = "
			+ root.phase + " parties = " + getRegisteredParties() + " arrived = "
			+ getArrivedParties() + ']';
	}
}
