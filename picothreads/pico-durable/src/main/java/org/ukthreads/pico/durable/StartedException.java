// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

/**
 * Thrown by Vault.start() if the id is in use: a thread of that id is in the store, or has ended.
 * Nothing was changed, so a start that a crash repeats may ignore it.
 */
public final class StartedException extends DurableException {
	private static final long serialVersionUID = 1;

	StartedException(String message) {
		super(message);
	}
}
