package org.ukthreads.pico;

import java.util.concurrent.locks.LockSupport;

/** An OS thread that holds a carrier, waits for a pinned fiber, or is spare. */
final class CarrierThread extends Thread {
	final Context context = new Context();
	private final PicoRuntime rt;
	/** Held; null: blocked for a pinned fiber, or spare. */
	volatile Carrier carrier;

	CarrierThread(PicoRuntime rt, String name, Carrier carrier) {
		super(null, null, name, 0);
		this.rt = rt;
		this.carrier = carrier;
		if (carrier != null)
			carrier.holder = this;
		setDaemon(true);
	}

	@Override
	public void run() {
		while (!rt.stopped()) {
			Carrier c = carrier;
			if (c == null) {
				LockSupport.park(rt);
				continue;
			}
			Fiber f = rt.next(c);
			if (f == null)
				return;
			if (f.blocked != null) {
				handOver(c, f);
			} else {
				slice(f);
				/* Its fiber left the carrier to another thread. */
				if (carrier == null)
					rt.spare(this);
			}
		}
	}

	private void slice(Fiber f) {
		Context x = context;
		f.state = Fiber.RUNNING;
		x.current = f;
		x.fiber = f;
		boolean ended = f.go(x);
		x.away = false;
		x.current = null;
		x.fiber = null;
		if (ended) {
			Throwable e = f.thrown();
			/* Thread bookkeeping may call the program (handlers): still as this fiber. */
			x.fiber = f;
			x.pins = 1;
			try {
				f.done(e);
			} finally {
				x.fiber = null;
				x.pins = 0;
				f.state = Fiber.DONE;
				rt.ended(f);
			}
		} else {
			f.parking();
			if (rt.packs(f))
				f.pack();
			f.unwound();
		}
	}

	/** Gives the carrier to the OS thread that the fiber blocks; becomes spare. */
	private void handOver(Carrier c, Fiber f) {
		Thread t = f.blocked;
		if (t instanceof CarrierThread) {
			carrier = null;
			rt.spare(this);
			CarrierThread p = (CarrierThread) t;
			c.holder = p;
			p.carrier = c;
		}
		f.go = true;
		LockSupport.unpark(t);
	}

	/** This thread's fiber is about to block it; returns with a carrier again. */
	void blockFor(Fiber f) {
		Carrier c = carrier;
		carrier = null;
		f.go = false;
		f.blocked = this;
		if (c != null)
			rt.replace(c);
		f.unwound();
		while (!f.go)
			LockSupport.park(f);
		f.blocked = null;
		f.state = Fiber.RUNNING;
		if (context.away)
			leave();
	}

	/** Runs on without a carrier. */
	void leave() {
		Carrier c = carrier;
		carrier = null;
		rt.replace(c);
	}

	/** Waits for a carrier. */
	void back(Fiber f) {
		if (f.claim(f.begin(Fiber.W_NONE, null)))
			f.wake();
		blockFor(f);
	}
}
