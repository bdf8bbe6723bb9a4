package org.ukthreads.pico.durable;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import org.ukthreads.pico.KeptFiber;
import org.ukthreads.pico.NeverBlocks;

/**
 * The one OS thread that touches the store. What has come together meanwhile goes out
 * together, so that many threads share the cost of a sync.
 */
@NeverBlocks
final class Writer implements Runnable {
	private static final int BATCH = 1024;

	private static final class Job {
		final List<Store.Change> changes;
		/** A key that the store must not have yet, or null. */
		final String fresh;
		final Consumer<Throwable> then;

		Job(List<Store.Change> changes, String fresh, Consumer<Throwable> then) {
			this.changes = changes;
			this.fresh = fresh;
			this.then = then;
		}
	}

	/** Under this: one thread at a time. */
	private final Store store;
	private final LinkedBlockingQueue<Job> jobs = new LinkedBlockingQueue<>();
	private static final Job LAST = new Job(null, null, null);
	/** Written under `jobs`, as LAST is added: nothing comes after it. */
	private volatile boolean closed;
	private final CountDownLatch ended = new CountDownLatch(1);

	Writer(Store store) {
		this.store = store;
		KeptFiber.platform("pico-durable-writer", this).start();
	}

	/** then: called when the changes are safe, with null, or with what went wrong. */
	void add(List<Store.Change> changes, Consumer<Throwable> then) {
		add(changes, null, then);
	}

	/** The same, if the store has no such key. */
	void add(List<Store.Change> changes, String fresh, Consumer<Throwable> then) {
		synchronized (jobs) {
			if (closed)
				throw new DurableException("the vault is closed");
			jobs.add(new Job(changes, fresh, then));
		}
	}

	boolean closed() {
		return closed;
	}

	List<String> keys() throws IOException {
		synchronized (store) {
			return store.keys();
		}
	}

	byte[] get(String key) throws IOException {
		synchronized (store) {
			return store.get(key);
		}
	}

	/** Writes what is left and ends. */
	void close() throws InterruptedException {
		synchronized (jobs) {
			if (!closed)
				jobs.add(LAST);
			closed = true;
		}
		ended.await();
	}

	private static void tell(Job j, Throwable bad) {
		try {
			j.then.accept(bad == null || bad instanceof DurableException ? bad
				: new DurableException("the store failed: " + bad, bad));
		} catch (Throwable e) {
			e.printStackTrace();
		}
	}

	@Override
	public void run() {
		List<Job> batch = new ArrayList<>();
		for (;;) {
			batch.clear();
			try {
				batch.add(jobs.take());
			} catch (InterruptedException e) {
				continue;
			}
			jobs.drainTo(batch, BATCH);
			boolean last = batch.remove(LAST);
			batch.removeIf(this::isThere);
			Throwable bad = apply(batch);
			for (Job j : batch)
				/* One may have spoilt it for all; what was done of it is done again. */
				tell(j, bad == null || batch.size() == 1 ? bad
					: apply(Collections.singletonList(j)));
			if (last) {
				ended.countDown();
				return;
			}
		}
	}

	/** What must be new and is not: refused, before anything is done. */
	private boolean isThere(Job j) {
		Throwable bad;
		try {
			if (j.fresh == null || get(j.fresh) == null)
				return false;
			bad = new DurableException("the store holds a thread "
				+ j.fresh.substring(Vault.THREAD.length())
				+ ": resume() it, or remove() it");
		} catch (Throwable e) {
			bad = e;
		}
		tell(j, bad);
		return true;
	}

	/** What went wrong, or null. */
	private Throwable apply(List<Job> batch) {
		List<Store.Change> all = new ArrayList<>();
		for (Job j : batch)
			all.addAll(j.changes);
		try {
			synchronized (store) {
				store.apply(all);
			}
			return null;
		} catch (Throwable e) {
			/* Errors, too: without us no commit would ever return again. */
			return e;
		}
	}
}
