// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.io.IOException;
import java.io.ObjectOutputStream;
import java.io.OutputStream;

/**
 * The stream that a durable thread's objects with a serial form of their own are written to.
 * In it a lock remembers who holds it, and a queue who waits; in others they do not.
 */
@Internal
public abstract class Snapshot extends ObjectOutputStream {
	protected Snapshot(OutputStream to) throws IOException {
		super(to);
	}
}
