// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelectionKey;
import java.nio.channels.spi.AbstractSelector;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.Set;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Transport;

/**
 * A selector over channels in memory. It asks them what they are ready for in the order of their
 * registration, so a run can be repeated. It never blocks; a thread that waits for it parks.
 */
final class VirtualSelector extends AbstractSelector implements Transport.Parkable {
	/** A channel that can tell which operations are ready now. */
	interface Ready {
		int readyOps();
	}

	static final class Key extends AbstractSelectionKey {
		private final VirtualSelector selector;
		private final AbstractSelectableChannel channel;
		private volatile int interest;
		private volatile int ready;

		Key(VirtualSelector s, AbstractSelectableChannel c, int ops) {
			selector = s;
			channel = c;
			interest = ops;
		}

		private void check() {
			if (!isValid())
				throw new java.nio.channels.CancelledKeyException();
		}

		@Override
		public SelectableChannel channel() {
			return channel;
		}

		@Override
		public Selector selector() {
			return selector;
		}

		@Override
		public int interestOps() {
			check();
			return interest;
		}

		@Override
		public SelectionKey interestOps(int ops) {
			check();
			if ((ops & ~channel.validOps()) != 0)
				throw new IllegalArgumentException("ops");
			interest = ops;
			selector.changed();
			return this;
		}

		@Override
		public int readyOps() {
			check();
			return ready;
		}
	}

	private final Set<SelectionKey> keys = new LinkedHashSet<>();
	private final Set<SelectionKey> selected = new LinkedHashSet<>();
	private Fiber waiter;
	private boolean woken;

	VirtualSelector(Provider p) {
		super(p);
		p.run().selectors.add(this);
	}

	@Override
	protected void implCloseSelector() {
		for (SelectionKey k : new LinkedHashSet<>(keys)) {
			k.cancel();
			deregister((AbstractSelectionKey) k);
		}
		keys.clear();
		((Provider) provider()).run().selectors.remove(this);
		wakeup();
	}

	@Override
	protected SelectionKey register(AbstractSelectableChannel c, int ops, Object attachment) {
		Key k = new Key(this, c, ops);
		k.attach(attachment);
		keys.add(k);
		changed();
		return k;
	}

	/** Wakes the thread that waits, because an interest set or a channel has changed. */
	void changed() {
		Fiber f = waiter;
		if (f != null)
			f.unpark();
	}

	private void check() {
		if (!isOpen())
			throw new ClosedSelectorException();
	}

	@Override
	public Set<SelectionKey> keys() {
		check();
		return Collections.unmodifiableSet(keys);
	}

	@Override
	public Set<SelectionKey> selectedKeys() {
		check();
		return selected;
	}

	@Override
	public int selectNow() {
		check();
		Set<SelectionKey> gone = cancelledKeys();
		for (SelectionKey k : new LinkedHashSet<>(gone)) {
			keys.remove(k);
			selected.remove(k);
			deregister((AbstractSelectionKey) k);
		}
		gone.clear();
		int n = 0;
		for (SelectionKey s : keys) {
			Key k = (Key) s;
			int r = k.isValid() ? ((Ready) k.channel).readyOps() & k.interest : 0;
			if (r == 0)
				continue;
			int before = selected.contains(k) ? k.ready : 0;
			k.ready = before | r;
			selected.add(k);
			if (k.ready != before)
				n++;
		}
		return n;
	}

	/** Does not wait, because Selects does. */
	@Override
	public int select(long timeout) {
		return selectNow();
	}

	@Override
	public int select() {
		return selectNow();
	}

	@Override
	public Selector wakeup() {
		woken = true;
		changed();
		return this;
	}

	@Override
	public void waiter(Fiber f) {
		waiter = f;
	}

	@Override
	public boolean woken() {
		boolean w = woken;
		woken = false;
		return w;
	}
}
