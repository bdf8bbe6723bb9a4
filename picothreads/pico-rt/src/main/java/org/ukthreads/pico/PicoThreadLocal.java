// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.WeakHashMap;
import java.util.function.Supplier;

/**
 * A ThreadLocal with a value for each fiber; on platform threads it is the JVM's. The values
 * belong to the fiber's thread, have weak keys, and disappear with the thread.
 */
@Internal
public class PicoThreadLocal<T> extends ThreadLocal<T> {
	public PicoThreadLocal() {}

	public static <S> ThreadLocal<S> withInitial(Supplier<? extends S> s) {
		java.util.Objects.requireNonNull(s);
		return new PicoThreadLocal<S>() {
			@Override
			protected S initialValue() {
				return s.get();
			}
		};
	}

	@Override
	public T get() {
		Fiber f = Context.get().fiber;
		return f == null ? super.get() : get(f, this, this::initialValue);
	}

	@Override
	public void set(T v) {
		Fiber f = Context.get().fiber;
		if (f == null)
			super.set(v);
		else
			set(f, this, v);
	}

	@Override
	public void remove() {
		Fiber f = Context.get().fiber;
		if (f == null)
			super.remove();
		else
			remove(f, this);
	}

	@SuppressWarnings("unchecked")
	static <T> T get(Fiber f, ThreadLocal<T> key, Supplier<T> initial) {
		PicoThread t = f.thread;
		Object v = t == null || t.locals == null ? null : t.locals.get(key);
		if (v != null)
			return v == NULL ? null : (T) v;
		/* initialValue() is the program's code, and our frame below it cannot be captured. */
		T first;
		Pins.enter();
		try {
			first = initial.get();
		} finally {
			Pins.exit();
		}
		set(f, key, first);
		return first;
	}

	static void set(Fiber f, ThreadLocal<?> key, Object v) {
		PicoThread t = PicoThread.of(f);
		if (t.locals == null)
			t.locals = new WeakHashMap<>(4);
		t.locals.put(key, v == null ? NULL : v);
	}

	static void remove(Fiber f, ThreadLocal<?> key) {
		PicoThread t = f.thread;
		if (t != null && t.locals != null)
			t.locals.remove(key);
	}

	static final Object NULL = new Object();
}
