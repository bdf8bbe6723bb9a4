// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/**
 * Marks the constructor that only allocates: a class whose constructors may suspend gets
 * one, and its constructors' bodies as static pico$init methods.
 */
@Internal
public final class Alloc {
	private static volatile int fence;

	private Alloc() {}

	/** After pico$init: what final fields promise, now that they are not final. */
	public static void published() {
		fence = 0;
	}
}
