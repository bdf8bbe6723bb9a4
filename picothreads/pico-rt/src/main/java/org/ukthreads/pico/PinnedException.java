// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/**
 * A suspension met a method that was not translated, and its frame would have been lost.
 * The message names the call site, the class and the method. The cure is to translate
 * the method (it was left out of the input, or marked NeverBlocks by mistake), or to
 * list the call as pinning.
 */
public final class PinnedException extends IllegalStateException {
	private static final long serialVersionUID = 1L;

	public PinnedException(String message) {
		super(message);
	}
}
