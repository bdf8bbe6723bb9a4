// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.ukthreads.pico.Members;
import org.ukthreads.pico.PicoThread;

/*
 * CompletableFuture whose functions may block. The value, cancelling and joining are the
 * JDK's; dependents are kept here, so that no JDK frame lies between one function and
 * the next:
 *
 *   complete --> super.complete, then the reactions, last come first, each followed by those
 *                of the future that it completes (a list, not recursion)
 *   reaction: a function of value and exception, run here or in a thread of its own; its
 *             result completes the next future
 *
 * An asynchronous function without an executor gets a daemon thread of its own: there is no
 * pool to exhaust.
 */
public class PicoCompletableFuture<T> extends CompletableFuture<T> {
	/** How one future is made from another. */
	private interface Step<T, U> {
		/** Completes `to`, now or later. e: as it was thrown, or null. */
		void take(T v, Throwable e, PicoCompletableFuture<U> to) throws Throwable;
	}

	private static final class Reaction<T, U> {
		final PicoCompletableFuture<U> to;
		final Step<? super T, U> step;
		/** Null: runs in the thread that completes. */
		final Executor in;
		/** An exception calls no code of the program, so it passes without `in`. */
		final boolean values;
		Reaction<T, ?> next;

		Reaction(PicoCompletableFuture<U> to, Step<? super T, U> step, Executor in,
				boolean values) {
			this.to = to;
			this.step = step;
			this.in = in;
			this.values = values;
		}

		/** Returns the future that it completed, whose reactions are due, or null. */
		PicoCompletableFuture<U> run(PicoCompletableFuture<T> from) {
			if (in == null || to.done() || values && from.failed())
				return act(from);
			try {
				in.execute(() -> {
					PicoCompletableFuture<U> p = act(from);
					if (p != null)
						p.fire();
				});
				return null;
			} catch (Throwable e) {
				return to.failed(e) ? to : null;
			}
		}

		private PicoCompletableFuture<U> act(PicoCompletableFuture<T> from) {
			if (to.done())
				return null;
			Outcome<T> o = from.outcome();
			try {
				step.take(o.value, o.thrown, to);
			} catch (Throwable e) {
				to.failed(e);
			}
			return to.done() ? to : null;
		}
	}

	private static final class Outcome<T> implements BiConsumer<T, Throwable> {
		T value;
		Throwable thrown;

		@Override
		public void accept(T v, Throwable e) {
			value = v;
			thrown = e;
		}
	}

	private final Object guard = new Object();
	/** Under the guard; the last one first. */
	private Reaction<T, ?> reactions;
	private int hung;
	private int sweepAt = 16;
	private boolean fired;

	public PicoCompletableFuture() {}

	private static final Executor ASYNC = r -> {
		Thread t = new PicoThread(null, r, "async");
		t.setDaemon(true);
		t.setContextClassLoader(ClassLoader.getSystemClassLoader());
		t.start();
	};

	/** The outcome before it is wrapped in a CompletionException. */
	private Outcome<T> outcome() {
		Outcome<T> o = new Outcome<>();
		super.whenComplete(o);
		return o;
	}

	private static Throwable wrapped(Throwable e) {
		return e instanceof CompletionException ? e : new CompletionException(e);
	}

	/** Completes without running what depends on it. */
	private boolean quietly(T v) {
		return super.complete(v);
	}

	private boolean failed(Throwable e) {
		return super.completeExceptionally(wrapped(e));
	}

	/* These ask super: subclasses may override the public ones, or make them throw. */

	private boolean done() {
		return super.isDone();
	}

	private boolean failed() {
		return super.isCompletedExceptionally();
	}

	private T now() {
		return super.getNow(null);
	}

	/** The future for the program: a subclass may make one of its own type. */
	@SuppressWarnings("unchecked")
	private <U> PicoCompletableFuture<U> made() {
		return (PicoCompletableFuture<U>) this.<U>newIncompleteFuture();
	}

	private <U> PicoCompletableFuture<U> then(Executor in, Step<? super T, U> step) {
		return then(this.<U>made(), in, false, step);
	}

	private <U> PicoCompletableFuture<U> then(PicoCompletableFuture<U> to, Executor in,
			boolean values, Step<? super T, U> step) {
		Reaction<T, U> r = new Reaction<>(to, step, in, values);
		if (!hang(r))
			run(r);
		return to;
	}

	private <U> void run(Reaction<T, U> r) {
		PicoCompletableFuture<U> p = r.run(this);
		if (p != null)
			p.fire();
	}

	private boolean hang(Reaction<T, ?> r) {
		synchronized (guard) {
			if (fired)
				return false;
			r.next = reactions;
			reactions = r;
			if (++hung >= sweepAt)
				sweep();
		}
		/* The JDK may have completed this without a fire(); a second one does no harm. */
		if (done())
			fire();
		return true;
	}

	/** Under the guard: drops reactions whose future is already done (of an anyOf). */
	private void sweep() {
		Reaction<T, ?> last = null;
		int n = 0;
		for (Reaction<T, ?> r = reactions; r != null; r = r.next) {
			if (r.to.done())
				continue;
			if (last == null)
				reactions = r;
			else
				last.next = r;
			last = r;
			n++;
		}
		if (last == null)
			reactions = null;
		else
			last.next = null;
		hung = n;
		sweepAt = Math.max(16, 2 * n);
	}

	private Reaction<T, ?> pop() {
		synchronized (guard) {
			fired = true;
			Reaction<T, ?> r = reactions;
			if (r != null)
				reactions = r.next;
			return r;
		}
	}

	/** Runs the reactions of this, which is done, and of what they complete. */
	private void fire() {
		ArrayDeque<PicoCompletableFuture<?>> due = new ArrayDeque<>(4);
		due.push(this);
		while (!due.isEmpty()) {
			PicoCompletableFuture<?> f = due.peek();
			PicoCompletableFuture<?> p = f.one(due);
			if (p != null)
				due.push(p);
		}
	}

	private PicoCompletableFuture<?> one(ArrayDeque<PicoCompletableFuture<?>> due) {
		Reaction<T, ?> r = pop();
		if (r == null) {
			due.pop();
			return null;
		}
		return r.run(this);
	}

	/* --- completing --- */

	@Override
	public boolean complete(T v) {
		boolean b = super.complete(v);
		fire();
		return b;
	}

	@Override
	public boolean completeExceptionally(Throwable e) {
		boolean b = super.completeExceptionally(e);
		fire();
		return b;
	}

	@Override
	public boolean cancel(boolean interrupt) {
		boolean b = super.cancel(interrupt);
		fire();
		return b;
	}

	@Override
	public void obtrudeValue(T v) {
		super.obtrudeValue(v);
		fire();
	}

	@Override
	public void obtrudeException(Throwable e) {
		super.obtrudeException(e);
		fire();
	}

	/** Java 9. */
	public CompletableFuture<T> completeAsync(Supplier<? extends T> s) {
		return completeAsync(s, defaultExecutor());
	}

	public CompletableFuture<T> completeAsync(Supplier<? extends T> s, Executor in) {
		java.util.Objects.requireNonNull(s);
		in.execute(() -> {
			if (done())
				return;
			try {
				quietly(s.get());
			} catch (Throwable e) {
				failed(e);
			}
			fire();
		});
		return this;
	}

	public Executor defaultExecutor() {
		return ASYNC;
	}

	public <U> CompletableFuture<U> newIncompleteFuture() {
		return new PicoCompletableFuture<>();
	}

	public CompletableFuture<T> copy() {
		return thenApply(v -> v);
	}

	public CompletionStage<T> minimalCompletionStage() {
		PicoCompletableFuture<T> s = new PicoMinimalStage<>();
		s.follow(this);
		return s;
	}

	public CompletableFuture<T> orTimeout(long time, TimeUnit unit) {
		after(time, unit, () -> completeExceptionally(new TimeoutException()));
		return this;
	}

	public CompletableFuture<T> completeOnTimeout(T v, long time, TimeUnit unit) {
		after(time, unit, () -> complete(v));
		return this;
	}

	/** Runs r in a thread of its own, which ends early when this is done. */
	private void after(long time, TimeUnit unit, Runnable r) {
		java.util.Objects.requireNonNull(unit);
		if (done())
			return;
		Thread t = new PicoThread(null, () -> {
			try {
				Juc.sleep(unit, time);
			} catch (InterruptedException e) {
				return;
			}
			r.run();
		}, "timeout");
		t.setDaemon(true);
		t.start();
		then(new PicoCompletableFuture<>(), null, false, (v, e, to) -> t.interrupt());
	}

	@Override
	public int getNumberOfDependents() {
		return dependents();
	}

	private int dependents() {
		synchronized (guard) {
			sweep();
			int n = super.getNumberOfDependents();
			for (Reaction<T, ?> r = reactions; r != null; r = r.next)
				n++;
			return n;
		}
	}

	@Override
	public String toString() {
		String s = Members.named(this, super.toString());
		int n = done() ? 0 : dependents();
		return n == 0 || !s.endsWith("]") ? s
			: s.replaceFirst("\\[Not completed.*$",
				"[Not completed, " + n + " dependents]");
	}

	/* --- calls of the JDK's static methods become these --- */

	public static <U> CompletableFuture<U> supplyAsync(Supplier<U> s) {
		return supplyAsync(s, ASYNC);
	}

	public static <U> CompletableFuture<U> supplyAsync(Supplier<U> s, Executor in) {
		return new PicoCompletableFuture<U>().completeAsync(s, in);
	}

	public static CompletableFuture<Void> runAsync(Runnable r) {
		return runAsync(r, ASYNC);
	}

	public static CompletableFuture<Void> runAsync(Runnable r, Executor in) {
		java.util.Objects.requireNonNull(r);
		return new PicoCompletableFuture<Void>().completeAsync(() -> {
			r.run();
			return null;
		}, in);
	}

	public static <U> CompletableFuture<U> completedFuture(U v) {
		PicoCompletableFuture<U> f = new PicoCompletableFuture<>();
		f.quietly(v);
		return f;
	}

	public static <U> CompletableFuture<U> failedFuture(Throwable e) {
		PicoCompletableFuture<U> f = new PicoCompletableFuture<>();
		f.completeExceptionally(java.util.Objects.requireNonNull(e));
		return f;
	}

	public static <U> CompletionStage<U> completedStage(U v) {
		PicoMinimalStage<U> s = new PicoMinimalStage<>();
		s.end(v, null);
		return s;
	}

	public static <U> CompletionStage<U> failedStage(Throwable e) {
		PicoMinimalStage<U> s = new PicoMinimalStage<>();
		s.end(null, java.util.Objects.requireNonNull(e));
		return s;
	}

	public static Executor delayedExecutor(long time, TimeUnit unit) {
		return delayedExecutor(time, unit, ASYNC);
	}

	public static Executor delayedExecutor(long time, TimeUnit unit, Executor in) {
		java.util.Objects.requireNonNull(unit);
		java.util.Objects.requireNonNull(in);
		return r -> ASYNC.execute(() -> {
			try {
				Juc.sleep(unit, time);
			} catch (InterruptedException e) {
				return;
			}
			in.execute(r);
		});
	}

	public static CompletableFuture<Void> allOf(CompletableFuture<?>... fs) {
		CompletableFuture<Void> all = completedFuture(null);
		for (CompletableFuture<?> f : fs)
			all = all.thenCombine(f, (a, b) -> null);
		return all;
	}

	public static CompletableFuture<Object> anyOf(CompletableFuture<?>... fs) {
		PicoCompletableFuture<Object> any = new PicoCompletableFuture<>();
		for (CompletableFuture<?> f : fs)
			any.follow(f);
		return any;
	}

	/* --- dependents of one --- */

	private <U> PicoCompletableFuture<U> apply(Executor in,
			Function<? super T, ? extends U> f) {
		java.util.Objects.requireNonNull(f);
		return then(this.<U>made(), in, true, (v, e, to) -> {
			if (e != null)
				to.failed(e);
			else
				to.quietly(f.apply(v));
		});
	}

	// each: @Override public T m(..) { return X(null, ..); }
	<U> CompletableFuture<U> thenApply(Function<? super T, ? extends U> f) = apply;
	CompletableFuture<Void> thenAccept(Consumer<? super T> c) = accept;
	CompletableFuture<Void> thenRun(Runnable r) = run;
	CompletableFuture<T> whenComplete(BiConsumer<? super T, ? super Throwable> c) = when;
	<U> CompletableFuture<U> handle(BiFunction<? super T, Throwable, ? extends U> f) = handle;
	CompletableFuture<T> exceptionally(Function<Throwable, ? extends T> f) = except;
	<U> CompletableFuture<U> thenCompose(
		Function<? super T, ? extends CompletionStage<U>> f) = compose;
	<U, V> CompletableFuture<V> thenCombine(CompletionStage<? extends U> o,
		BiFunction<? super T, ? super U, ? extends V> f) = both;
	<U> CompletableFuture<Void> thenAcceptBoth(CompletionStage<? extends U> o,
		BiConsumer<? super T, ? super U> c) = acceptBoth;
	CompletableFuture<Void> runAfterBoth(CompletionStage<?> o, Runnable r) = runBoth;

	// each: @Override public T m(..) { return X(defaultExecutor(), ..); }
	<U> CompletableFuture<U> thenApplyAsync(Function<? super T, ? extends U> f) = apply;
	CompletableFuture<Void> thenAcceptAsync(Consumer<? super T> c) = accept;
	CompletableFuture<Void> thenRunAsync(Runnable r) = run;
	CompletableFuture<T> whenCompleteAsync(BiConsumer<? super T, ? super Throwable> c) = when;
	<U> CompletableFuture<U> handleAsync(BiFunction<? super T, Throwable, ? extends U> f) = handle;
	<U> CompletableFuture<U> thenComposeAsync(
		Function<? super T, ? extends CompletionStage<U>> f) = compose;
	<U, V> CompletableFuture<V> thenCombineAsync(CompletionStage<? extends U> o,
		BiFunction<? super T, ? super U, ? extends V> f) = both;
	<U> CompletableFuture<Void> thenAcceptBothAsync(CompletionStage<? extends U> o,
		BiConsumer<? super T, ? super U> c) = acceptBoth;
	CompletableFuture<Void> runAfterBothAsync(CompletionStage<?> o, Runnable r) = runBoth;

	@Override
	public <U> CompletableFuture<U> thenApplyAsync(Function<? super T, ? extends U> f,
			Executor in) {
		return apply(java.util.Objects.requireNonNull(in), f);
	}

	private PicoCompletableFuture<Void> accept(Executor in, Consumer<? super T> c) {
		java.util.Objects.requireNonNull(c);
		return apply(in, v -> {
			c.accept(v);
			return null;
		});
	}

	@Override
	public CompletableFuture<Void> thenAcceptAsync(Consumer<? super T> c, Executor in) {
		return accept(java.util.Objects.requireNonNull(in), c);
	}

	private PicoCompletableFuture<Void> run(Executor in, Runnable r) {
		java.util.Objects.requireNonNull(r);
		return apply(in, v -> {
			r.run();
			return null;
		});
	}

	@Override
	public CompletableFuture<Void> thenRunAsync(Runnable r, Executor in) {
		return run(java.util.Objects.requireNonNull(in), r);
	}

	private PicoCompletableFuture<T> when(Executor in,
			BiConsumer<? super T, ? super Throwable> c) {
		java.util.Objects.requireNonNull(c);
		return then(in, (v, e, to) -> {
			try {
				c.accept(v, e);
			} catch (Throwable x) {
				if (e == null)
					throw x;
				if (x != e)
					e.addSuppressed(x);
			}
			if (e != null)
				to.failed(e);
			else
				to.quietly(v);
		});
	}

	@Override
	public CompletableFuture<T> whenCompleteAsync(BiConsumer<? super T, ? super Throwable> c,
			Executor in) {
		return when(java.util.Objects.requireNonNull(in), c);
	}

	private <U> PicoCompletableFuture<U> handle(Executor in,
			BiFunction<? super T, Throwable, ? extends U> f) {
		java.util.Objects.requireNonNull(f);
		return then(in, (v, e, to) -> to.quietly(f.apply(v, e)));
	}

	@Override
	public <U> CompletableFuture<U> handleAsync(
			BiFunction<? super T, Throwable, ? extends U> f, Executor in) {
		return handle(java.util.Objects.requireNonNull(in), f);
	}

	private PicoCompletableFuture<T> except(Executor in,
			Function<Throwable, ? extends T> f) {
		java.util.Objects.requireNonNull(f);
		return then(in, (v, e, to) -> to.quietly(e != null ? f.apply(e) : v));
	}

	/** Java 12, as the next four public ones. */
	public CompletableFuture<T> exceptionallyAsync(Function<Throwable, ? extends T> f) {
		return except(defaultExecutor(), f);
	}

	public CompletableFuture<T> exceptionallyAsync(Function<Throwable, ? extends T> f,
			Executor in) {
		return except(java.util.Objects.requireNonNull(in), f);
	}

	private PicoCompletableFuture<T> recover(Executor in,
			Function<Throwable, ? extends CompletionStage<T>> f) {
		java.util.Objects.requireNonNull(f);
		return then(in, (v, e, to) -> {
			if (e == null)
				to.quietly(v);
			else
				to.follow(f.apply(e));
		});
	}

	public CompletableFuture<T> exceptionallyCompose(
			Function<Throwable, ? extends CompletionStage<T>> f) {
		return recover(null, f);
	}

	public CompletableFuture<T> exceptionallyComposeAsync(
			Function<Throwable, ? extends CompletionStage<T>> f) {
		return recover(defaultExecutor(), f);
	}

	public CompletableFuture<T> exceptionallyComposeAsync(
			Function<Throwable, ? extends CompletionStage<T>> f, Executor in) {
		return recover(java.util.Objects.requireNonNull(in), f);
	}

	/** Completes this as s is completed. */
	final void follow(CompletionStage<? extends T> s) {
		if (s instanceof PicoCompletableFuture) {
			((PicoCompletableFuture<? extends T>) s).lead(this);
			return;
		}
		s.whenComplete((v, e) -> {
			as(v, e);
			fire();
		});
	}

	private void as(T v, Throwable e) {
		if (e != null)
			failed(e);
		else
			quietly(v);
	}

	private <U> void lead(PicoCompletableFuture<U> follower) {
		@SuppressWarnings("unchecked")
		PicoCompletableFuture<U> me = (PicoCompletableFuture<U>) this;
		Reaction<U, U> r = new Reaction<>(follower, (v, e, to) -> to.as(v, e), null,
			false);
		if (!me.hang(r))
			me.run(r);
	}

	private <U> PicoCompletableFuture<U> compose(Executor in,
			Function<? super T, ? extends CompletionStage<U>> f) {
		java.util.Objects.requireNonNull(f);
		return then(this.<U>made(), in, true, (v, e, to) -> {
			if (e != null)
				to.failed(e);
			else
				to.follow(f.apply(v));
		});
	}

	@Override
	public <U> CompletableFuture<U> thenComposeAsync(
			Function<? super T, ? extends CompletionStage<U>> f, Executor in) {
		return compose(java.util.Objects.requireNonNull(in), f);
	}

	/* --- dependents of two --- */

	private <U, V> PicoCompletableFuture<V> both(Executor in, CompletionStage<? extends U> o,
			BiFunction<? super T, ? super U, ? extends V> f) {
		java.util.Objects.requireNonNull(f);
		PicoCompletableFuture<U> b = new PicoCompletableFuture<>();
		b.follow(o);
		/* As in the JDK, an exception that is already there passes through the executor. */
		boolean values = !done() || !b.done();
		/* Done when both are done; an exception of this counts first. */
		PicoCompletableFuture<Void> two = new PicoCompletableFuture<>();
		then(two, null, false, (v, e, mid) ->
			b.then(new PicoCompletableFuture<Void>(), null, false, (w, x, end) -> {
				mid.as(null, e != null ? e : x);
				mid.fire();
			}));
		return two.then(this.<V>made(), in, values, (n, e, to) -> {
			if (e != null)
				to.failed(e);
			else
				to.quietly(f.apply(now(), b.now()));
		});
	}

	@Override
	public <U, V> CompletableFuture<V> thenCombineAsync(CompletionStage<? extends U> o,
			BiFunction<? super T, ? super U, ? extends V> f, Executor in) {
		return both(java.util.Objects.requireNonNull(in), o, f);
	}

	private <U> PicoCompletableFuture<Void> acceptBoth(Executor in,
			CompletionStage<? extends U> o, BiConsumer<? super T, ? super U> c) {
		java.util.Objects.requireNonNull(c);
		return both(in, o, (v, w) -> {
			c.accept(v, w);
			return null;
		});
	}

	@Override
	public <U> CompletableFuture<Void> thenAcceptBothAsync(CompletionStage<? extends U> o,
			BiConsumer<? super T, ? super U> c, Executor in) {
		return acceptBoth(java.util.Objects.requireNonNull(in), o, c);
	}

	private PicoCompletableFuture<Void> runBoth(Executor in, CompletionStage<?> o,
			Runnable r) {
		java.util.Objects.requireNonNull(r);
		return both(in, o, (v, w) -> {
			r.run();
			return null;
		});
	}

	@Override
	public CompletableFuture<Void> runAfterBothAsync(CompletionStage<?> o, Runnable r,
			Executor in) {
		return runBoth(java.util.Objects.requireNonNull(in), o, r);
	}

	/** Done as the first of the two. */
	@SuppressWarnings("unchecked")
	private <V> PicoCompletableFuture<V> first(CompletionStage<? extends V> o) {
		PicoCompletableFuture<V> f = made();
		f.follow((CompletionStage<V>) this);
		f.follow(o);
		return f;
	}

	@Override
	public <U> CompletableFuture<U> applyToEither(CompletionStage<? extends T> o,
			Function<? super T, U> f) {
		return this.<T>first(o).apply(null, f);
	}

	@Override
	public <U> CompletableFuture<U> applyToEitherAsync(CompletionStage<? extends T> o,
			Function<? super T, U> f) {
		return this.<T>first(o).apply(defaultExecutor(), f);
	}

	@Override
	public <U> CompletableFuture<U> applyToEitherAsync(CompletionStage<? extends T> o,
			Function<? super T, U> f, Executor in) {
		return this.<T>first(o).apply(java.util.Objects.requireNonNull(in), f);
	}

	@Override
	public CompletableFuture<Void> acceptEither(CompletionStage<? extends T> o,
			Consumer<? super T> c) {
		return this.<T>first(o).accept(null, c);
	}

	@Override
	public CompletableFuture<Void> acceptEitherAsync(CompletionStage<? extends T> o,
			Consumer<? super T> c) {
		return this.<T>first(o).accept(defaultExecutor(), c);
	}

	@Override
	public CompletableFuture<Void> acceptEitherAsync(CompletionStage<? extends T> o,
			Consumer<? super T> c, Executor in) {
		return this.<T>first(o).accept(java.util.Objects.requireNonNull(in), c);
	}

	@Override
	public CompletableFuture<Void> runAfterEither(CompletionStage<?> o, Runnable r) {
		return this.<Object>first(o).run(null, r);
	}

	@Override
	public CompletableFuture<Void> runAfterEitherAsync(CompletionStage<?> o, Runnable r) {
		return this.<Object>first(o).run(defaultExecutor(), r);
	}

	@Override
	public CompletableFuture<Void> runAfterEitherAsync(CompletionStage<?> o, Runnable r,
			Executor in) {
		return this.<Object>first(o).run(java.util.Objects.requireNonNull(in), r);
	}
}
