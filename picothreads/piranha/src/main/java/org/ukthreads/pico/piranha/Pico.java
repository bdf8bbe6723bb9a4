/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

/** Tells whether this crawler runs as translated code, where a Thread is a pico thread. */
final class Pico {
	private Pico() {
	}

	/** The translator turns `new Thread` into a PicoThread. */
	static boolean translated() {
		try {
			return Class.forName("org.ukthreads.pico.PicoThread").isInstance(new Thread("probe"));
		} catch (ClassNotFoundException e) {
			return false;
		}
	}
}
