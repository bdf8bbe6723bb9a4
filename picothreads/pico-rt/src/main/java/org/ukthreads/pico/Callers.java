// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/** Who called: for what the JDK finds out by looking at its caller's caller. */
@Internal
public final class Callers {
	private Callers() {}

	/**
	 * The class loader of the nearest frame that is neither the JDK's nor of this library;
	 * the library's own if there is none. To be asked before anything that may suspend:
	 * after it, the callers' frames are elsewhere.
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
