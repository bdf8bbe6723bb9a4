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

	// each: @Override public T m(..) { throw no(); }
	T get(); T get(long time, TimeUnit unit); T getNow(T none); T join();
	boolean complete(T v); boolean completeExceptionally(Throwable e);
	boolean cancel(boolean interrupt); void obtrudeValue(T v);
	void obtrudeException(Throwable e); boolean isDone(); boolean isCancelled();
	boolean isCompletedExceptionally(); int getNumberOfDependents();
	CompletableFuture<T> completeAsync(Supplier<? extends T> s, Executor in);
	CompletableFuture<T> completeAsync(Supplier<? extends T> s);
	CompletableFuture<T> orTimeout(long time, TimeUnit unit);
	CompletableFuture<T> completeOnTimeout(T v, long time, TimeUnit unit);

	// each: public T m(..) { throw no(); }
	T resultNow(); Throwable exceptionNow();
}
