// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

/**
 * Thrown if a thread cannot be saved or resumed, or a call of the vault fails. The message says
 * why.
 */
public class DurableException extends RuntimeException {
	private static final long serialVersionUID = 1;

	public DurableException(String message) {
		super(message);
	}

	public DurableException(String message, Throwable cause) {
		super(message, cause);
	}
}
