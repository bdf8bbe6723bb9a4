// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/**
 * The parameter type that marks a constructor which only allocates. A class whose constructors
 * may suspend gets such a constructor; the bodies of its constructors become static pico$init
 * methods.
 */
@Internal
public final class Alloc {
	private static volatile int fence;

	private Alloc() {}

	/**
	 * Called after pico$init. The volatile store takes the place of the barrier for final
	 * fields, because the translation has removed final from them.
	 */
	public static void published() {
		fence = 0;
	}
}
