// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.Map;
import java.util.WeakHashMap;

/**
 * Replaces InheritableThreadLocal: a new PicoThread starts with childValue() of the value of
 * the thread that makes it.
 */
@Internal
public class PicoInheritableThreadLocal<T> extends InheritableThreadLocal<T> {
	public PicoInheritableThreadLocal() {}

	@Override
	public T get() {
		Fiber f = Context.get().fiber;
		return f == null ? noted(super.get())
			: PicoThreadLocal.get(f, this, this::initialValue);
	}

	/** On a platform thread: notes the value for the pico threads that it makes. */
	private T noted(T v) {
		Fiber.noted(true).put(this, v == null ? PicoThreadLocal.NULL : v);
		return v;
	}

	@Override
	public void set(T v) {
		Fiber f = Context.get().fiber;
		if (f == null)
			super.set(noted(v));
		else
			PicoThreadLocal.set(f, this, v);
	}

	@Override
	public void remove() {
		Fiber f = Context.get().fiber;
		if (f == null) {
			super.remove();
			Map<?, ?> m = Fiber.noted(false);
			if (m != null)
				m.remove(this);
		} else {
			PicoThreadLocal.remove(f, this);
		}
	}

	@SuppressWarnings("unchecked")
	private T child(Object v) {
		return childValue((T) v);
	}

	static Map<ThreadLocal<?>, Object> childValues(Map<ThreadLocal<?>, Object> parent) {
		Map<ThreadLocal<?>, Object> m = null;
		for (Map.Entry<ThreadLocal<?>, Object> e : parent.entrySet()) {
			if (!(e.getKey() instanceof PicoInheritableThreadLocal))
				continue;
			if (m == null)
				m = new WeakHashMap<>(4);
			Object v = e.getValue();
			v = v == PicoThreadLocal.NULL ? null : v;
			/* childValue() is the program's code, and our frame below it cannot be captured. */
			Pins.enter();
			try {
				v = ((PicoInheritableThreadLocal<?>) e.getKey()).child(v);
			} finally {
				Pins.exit();
			}
			m.put(e.getKey(), v == null ? PicoThreadLocal.NULL : v);
		}
		return m;
	}
}
