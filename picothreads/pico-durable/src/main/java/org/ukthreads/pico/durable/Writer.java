// SPDX-License-Identifier: Apache-2.0
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
 * The only OS thread that writes to the shelf. Jobs that have gathered meanwhile are written
 * together, so that many threads share the cost of a sync. While the database is away, acts of the
 * threads themselves wait here, so that an outage fails no thread. Callers get an error.
 */
@NeverBlocks
final class Writer implements Runnable {
	private static final int BATCH = 1024;

	private static final class Job {
		final List<Act> acts;
		final Consumer<Throwable> then;

		Job(List<Act> acts, Consumer<Throwable> then) {
			this.acts = acts;
			this.then = then;
		}

		boolean isAsked() {
			return acts.stream().anyMatch(Act::isAsked);
		}
	}

	/** A question to the shelf. */
	interface Asked<T> {
		T of(Shelf s) throws IOException;
	}

	/** Its monitor admits one OS thread at a time. */
	private final Shelf shelf;
	private final LinkedBlockingQueue<Job> jobs = new LinkedBlockingQueue<>();
	private static final Job LAST = new Job(null, null);
	/** Written under `jobs`, as LAST is added: nothing is added after that. */
	private volatile boolean closed;
	private final CountDownLatch ended = new CountDownLatch(1);
	/** A counter. Only this thread writes it. */
	volatile long batches;

	Writer(Shelf shelf) {
		this.shelf = shelf;
		KeptFiber.platform("pico-durable-writer", this).start();
	}

	/** @param then called with null when all acts are safe, or with what went wrong */
	void add(List<Act> acts, Consumer<Throwable> then) {
		synchronized (jobs) {
			if (closed)
				throw new DurableException("the vault is closed");
			jobs.add(new Job(acts, then));
		}
	}

	void add(Act act, Consumer<Throwable> then) {
		add(Collections.singletonList(act), then);
	}

	boolean closed() {
		return closed;
	}

	/** A transaction of the program must not ask: the answer would commit what it has done so far. */
	<T> T ask(Asked<T> what) throws IOException {
		Vault.outside();
		synchronized (shelf) {
			return what.of(shelf);
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
			try {
				if (batch.isEmpty())
					batch.add(jobs.take());
			} catch (InterruptedException e) {
				continue;
			}
			jobs.drainTo(batch, BATCH);
			boolean last = batch.remove(LAST);
			batch = write(batch);
			if (last) {
				ended.countDown();
				return;
			}
		}
	}

	/** Writes a batch. Returns the jobs that have to wait for the database. */
	private List<Job> write(List<Job> batch) {
		List<Job> left = new ArrayList<>();
		Throwable bad = apply(batch);
		boolean spoilt = bad != null && batch.size() > 1;
		for (Job j : batch) {
			/*
			 * One job may have made the whole batch fail, so each is tried alone. What was done is
			 * repeated.
			 */
			if (spoilt && !(bad instanceof Link.LostException))
				bad = apply(Collections.singletonList(j));
			if (bad instanceof Link.LostException && !closed && !j.isAsked())
				left.add(j);
			else
				tell(j, bad);
		}
		return left;
	}

	/** Returns what went wrong, or null. */
	private Throwable apply(List<Job> batch) {
		List<Act> all = new ArrayList<>();
		for (Job j : batch)
			all.addAll(j.acts);
		if (all.isEmpty())
			return null;
		try {
			synchronized (shelf) {
				shelf.make(all);
			}
			batches++;
			return null;
		} catch (Throwable e) {
			/* Errors, too: without this OS thread no commit would ever return. */
			return e;
		}
	}
}
