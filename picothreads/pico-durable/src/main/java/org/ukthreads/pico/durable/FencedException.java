// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

/**
 * Thrown if this worker no longer owns what it wanted to write: its lease ran out (in a long pause
 * or a network failure), and another worker has taken over. Nothing was stored.
 */
public final class FencedException extends DurableException {
	private static final long serialVersionUID = 1;

	FencedException(String message) {
		super(message);
	}
}
