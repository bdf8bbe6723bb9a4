// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.io.IOException;
import java.io.ObjectOutputStream;
import java.io.OutputStream;

/**
 * The stream to which those objects of a durable thread are written that have a serial form of
 * their own. Only in this stream does a lock keep its owner, and a queue its waiters.
 */
@Internal
public abstract class Snapshot extends ObjectOutputStream {
	protected Snapshot(OutputStream to) throws IOException {
		super(to);
	}
}
