// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** Java 9's stage that its users can neither complete nor query. */
final class PicoMinimalStage<T> extends PicoCompletableFuture<T> {
	private static UnsupportedOperationException no() {
		return new UnsupportedOperationException();
	}

	void end(T v, Throwable e) {
		if (e == null)
			super.complete(v);
		else
			super.completeExceptionally(e);
	}

	@Override
	public <U> CompletableFuture<U> newIncompleteFuture() {
		return new PicoMinimalStage<>();
	}

	@Override
	public CompletableFuture<T> toCompletableFuture() {
		PicoCompletableFuture<T> f = new PicoCompletableFuture<>();
		f.follow(this);
		return f;
	}

	@Override
	public T get() {
		throw no();
	}

	@Override
	public T get(long time, TimeUnit unit) {
		throw no();
	}

	@Override
	public T getNow(T none) {
		throw no();
	}

	@Override
	public T join() {
		throw no();
	}

	@Override
	public boolean complete(T v) {
		throw no();
	}

	@Override
	public boolean completeExceptionally(Throwable e) {
		throw no();
	}

	@Override
	public boolean cancel(boolean interrupt) {
		throw no();
	}

	@Override
	public void obtrudeValue(T v) {
		throw no();
	}

	@Override
	public void obtrudeException(Throwable e) {
		throw no();
	}

	@Override
	public boolean isDone() {
		throw no();
	}

	@Override
	public boolean isCancelled() {
		throw no();
	}

	@Override
	public boolean isCompletedExceptionally() {
		throw no();
	}

	@Override
	public int getNumberOfDependents() {
		throw no();
	}

	@Override
	public CompletableFuture<T> completeAsync(Supplier<? extends T> s, Executor in) {
		throw no();
	}

	@Override
	public CompletableFuture<T> completeAsync(Supplier<? extends T> s) {
		throw no();
	}

	@Override
	public CompletableFuture<T> orTimeout(long time, TimeUnit unit) {
		throw no();
	}

	@Override
	public CompletableFuture<T> completeOnTimeout(T v, long time, TimeUnit unit) {
		throw no();
	}

	public T resultNow() {
		throw no();
	}

	public Throwable exceptionNow() {
		throw no();
	}
}
