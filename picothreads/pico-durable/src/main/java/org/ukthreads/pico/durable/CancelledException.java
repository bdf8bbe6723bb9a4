// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

/** Thrown once by Durable.receive() in a thread that was cancelled. */
public final class CancelledException extends DurableException {
	private static final long serialVersionUID = 1;

	CancelledException(String message) {
		super(message);
	}
}
