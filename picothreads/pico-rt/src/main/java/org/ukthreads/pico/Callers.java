// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/** Finds the caller, for replaced JDK methods that look at their caller's caller. */
@Internal
public final class Callers {
	private Callers() {}

	/**
	 * The class loader of the nearest frame that belongs neither to the JDK nor to this
	 * library; the library's own loader if there is none. Call this before anything that may
	 * suspend: afterwards the callers' frames are on the heap.
	 */
	public static ClassLoader loader() {
		ClassLoader own = Callers.class.getClassLoader();
		for (Class<?> c : Walk.stack()) {
			ClassLoader l = c.getClassLoader();
			if (l != null && l != Walk.PLATFORM
					&& (l != own || !c.getName().startsWith("org.ukthreads.pico.")))
				return l;
		}
		return own;
	}
}
