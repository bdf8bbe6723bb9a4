// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.ukthreads.pico.Members;
import org.ukthreads.pico.Room;

/** CountDownLatch. */
public class PicoCountDownLatch extends CountDownLatch implements Room.Of {
	private final Gate gate = new Gate(this);
	private long count;

	public PicoCountDownLatch(int count) {
		super(count);
		this.count = count;
	}

	@Override
	public Room room() {
		return gate;
	}

	private static final class Zero extends Gate.Node {
		private final PicoCountDownLatch of;

		Zero(PicoCountDownLatch of) {
			super(0);
			this.of = of;
		}

		@Override
		boolean attempt() {
			return of.count == 0;
		}
	}

	@Override
	public void await() throws InterruptedException {
		gate.passInterruptibly(new Zero(this));
	}

	@Override
	public boolean await(long time, TimeUnit unit) throws InterruptedException {
		return gate.passIn(new Zero(this), unit.toNanos(time));
	}

	@Override
	public void countDown() {
		synchronized (gate) {
			gate.ready();
			if (count > 0 && --count == 0 && gate.head != null)
				gate.serve();
		}
	}

	@Override
	public long getCount() {
		synchronized (gate) {
			return count;
		}
	}

	@Override
	public String toString() {
		return Members.name(this) + '@' + Integer.toHexString(hashCode()) + "[Count = " + getCount() + "]";
	}
}
