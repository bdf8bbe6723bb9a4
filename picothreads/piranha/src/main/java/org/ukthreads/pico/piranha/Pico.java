/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

/** Whether this crawler runs as translated code, where a Thread is a pico thread. */
final class Pico {
	private Pico() {
	}

	/** The translator makes `new Thread` a thread of its own kind. */
	static boolean translated() {
		try {
			return Class.forName("org.ukthreads.pico.PicoThread").isInstance(new Thread("probe"));
		} catch (ClassNotFoundException e) {
			return false;
		}
	}
}
