// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

/** Tells whether a subclass of one of our classes overrides a method. */
final class Overrides extends ClassValue<Boolean> {
	private final Class<?> ours;
	private final String method;
	private final Class<?>[] types;

	Overrides(Class<?> ours, String method, Class<?>... types) {
		this.ours = ours;
		this.method = method;
		this.types = types;
	}

	@Override
	protected Boolean computeValue(Class<?> c) {
		for (; c != ours; c = c.getSuperclass())
			try {
				c.getDeclaredMethod(method, types);
				return true;
			} catch (NoSuchMethodException e) {
				/* This class does not override it. */
			}
		return false;
	}
}
