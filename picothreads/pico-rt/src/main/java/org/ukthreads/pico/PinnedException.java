// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/**
 * Thrown when a suspension meets an untranslated method, whose frame would be lost. The message
 * names the call site, the class and the method. To avoid it, translate the method (it was left
 * out of the input, or marked NeverBlocks by mistake) or add a `pin` rule for the call.
 */
public final class PinnedException extends IllegalStateException {
	private static final long serialVersionUID = 1L;

	public PinnedException(String message) {
		super(message);
	}
}
