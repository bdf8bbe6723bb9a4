// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

/**
 * This worker no longer has what it wanted to write: its lease ran out (a long pause, a
 * network that was away) and another one has taken over. Nothing of it was stored.
 */
public final class FencedException extends DurableException {
	private static final long serialVersionUID = 1;

	FencedException(String message) {
		super(message);
	}
}
