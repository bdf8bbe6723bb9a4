/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.frontier;

import crawlercommons.urlfrontier.URLFrontierGrpc;
import crawlercommons.urlfrontier.Urlfrontier.AckMessage;
import crawlercommons.urlfrontier.Urlfrontier.URLItem;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Sends results to a URLFrontier: the URLs found by a batch, and after their acknowledgement the
 * settled URLs.
 */
final class Uploader implements Runnable {
	private static final long ACK_MILLIS = 30_000;
	private static final long AGAIN_MILLIS = 200;
	private static final int BACKLOG = 100;     /* results that a crash would repeat */

	private final URLFrontierGrpc.URLFrontierStub stub;
	private List<URLItem> found = new ArrayList<>();        /* this and the rest: guarded by this */
	private List<URLItem> settled = new ArrayList<>();
	private boolean sending;
	private long batches;
	private boolean closed;
	private String failure = "";

	Uploader(URLFrontierGrpc.URLFrontierStub stub) {
		this.stub = stub;
	}

	void start() {
		Thread thread = new Thread(this, "frontier-uploader");
		thread.setDaemon(true);
		thread.start();
	}

	/**
	 * Queues a result. Waits while too many are unsent, because after a crash they are fetched
	 * again.
	 */
	synchronized void later(List<URLItem> links, URLItem result) throws InterruptedException {
		while (settled.size() >= BACKLOG && failure.isEmpty()) {
			wait();
		}
		found.addAll(links);
		settled.add(result);
		notifyAll();
	}

	synchronized boolean idle() {
		return !sending && settled.isEmpty();
	}

	/** Returns when a batch has reached the server, or after that time. */
	synchronized void awaitProgress(long millis) throws InterruptedException {
		long before = batches;
		if (settled.isEmpty() && !sending && failure.isEmpty()) {
			wait(millis);
		}
		long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
		long left = millis;
		while (batches == before && (sending || !settled.isEmpty()) && left > 0) {
			wait(left);
			left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
		}
	}

	synchronized void check() throws IOException {
		if (!failure.isEmpty()) {
			throw new IOException(failure);
		}
	}

	void close(long patienceMillis) throws IOException {
		long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(patienceMillis);
		synchronized (this) {
			closed = true;
			notifyAll();
			try {
				while (!idle() && failure.isEmpty() && System.nanoTime() - end < 0) {
					wait(100);
				}
			} catch (InterruptedException e) {
				Thread.currentThread().interrupt();
			}
		}
		check();
	}

	@Override
	public void run() {
		try {
			while (await()) {
				send();
			}
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		} catch (IOException e) {
			synchronized (this) {
				failure = e.getMessage();
				sending = false;
				notifyAll();
			}
		}
	}

	/**
	 * Puts the items and waits until the server has acknowledged them. Returns how many were new.
	 */
	int putNow(List<URLItem> items) throws IOException {
		if (items.isEmpty()) {
			return 0;
		}
		AtomicInteger accepted = new AtomicInteger();
		AtomicReference<String> error = new AtomicReference<>("");
		CountDownLatch end = new CountDownLatch(1);
		StreamObserver<URLItem> out = stub.withWaitForReady().putURLs(
				new Acks(accepted, error, end));
		for (URLItem item : items) {
			out.onNext(item);
		}
		out.onCompleted();
		try {
			if (!end.await(ACK_MILLIS, TimeUnit.MILLISECONDS)) {
				throw new IOException("the URLFrontier did not acknowledge in time");
			}
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
			throw new IOException("interrupted while waiting for the URLFrontier");
		}
		if (!error.get().isEmpty()) {
			throw new IOException(error.get());
		}
		return accepted.get();
	}

	/**
	 * Puts the items, again and again if the server does not answer for a while. To put an item
	 * twice is harmless.
	 */
	private void patiently(List<URLItem> items) throws IOException {
		long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ACK_MILLIS);
		while (true) {
			try {
				putNow(items);
				return;
			} catch (IOException e) {
				if (System.nanoTime() - end > 0) {
					throw e;
				}
			}
			try {
				Thread.sleep(AGAIN_MILLIS);
			} catch (InterruptedException e) {
				throw new IOException("interrupted while waiting for the URLFrontier");
			}
		}
	}

	/** Waits for results. Returns false if it is closed and all results are sent. */
	private synchronized boolean await() throws InterruptedException {
		while (settled.isEmpty() && !closed) {
			wait();
		}
		return !settled.isEmpty();
	}

	private void send() throws IOException {
		List<URLItem> first;
		List<URLItem> second;
		synchronized (this) {
			sending = true;
			first = found;
			second = settled;
			found = new ArrayList<>();
			settled = new ArrayList<>();
			notifyAll();
		}
		patiently(first);
		patiently(second);
		synchronized (this) {
			sending = false;
			batches++;
			notifyAll();
		}
	}

	private static final class Acks implements StreamObserver<AckMessage> {
		private final AtomicInteger accepted;
		private final AtomicReference<String> error;
		private final CountDownLatch end;

		Acks(AtomicInteger accepted, AtomicReference<String> error, CountDownLatch end) {
			this.accepted = accepted;
			this.error = error;
			this.end = end;
		}

		@Override
		public void onNext(AckMessage ack) {
			if (SharedFrontier.accepted(ack)) {
				accepted.incrementAndGet();
			} else if (ack.getStatus() == AckMessage.Status.FAIL) {
				error.set("the URLFrontier refused " + ack.getID());
			}
		}

		@Override
		public void onError(Throwable failure) {
			error.set("the URLFrontier failed: " + failure.getMessage());
			end.countDown();
		}

		@Override
		public void onCompleted() {
			end.countDown();
		}
	}
}
