// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.Closeable;
import java.io.IOException;
import java.util.List;

/**
 * Where snapshots are kept: values by key. One OS thread at a time calls it. A store belongs to one
 * vault, except a JdbcStore, which many vaults may share.
 */
public interface Store extends Closeable {
	/** A new value for a key; null removes the key. */
	final class Change {
		public final String key;
		public final byte[] value;

		/** When a worker should look at the record next, epoch milliseconds; a hint; 0: none. */
		public final long due;

		public Change(String key, byte[] value) {
			this(key, value, 0);
		}

		public Change(String key, byte[] value, long due) {
			this.key = key;
			this.value = value;
			this.due = due;
		}
	}

	/**
	 * Makes the changes. After it returns, they survive a crash of the machine. After a crash
	 * during the call, some of the first changes are made, each completely or not at all.
	 */
	void apply(List<Change> changes) throws IOException;

	List<String> keys() throws IOException;

	/** Returns the hint that came with the record's value; 0: it was not kept. */
	default long due(String key) throws IOException {
		return 0;
	}

	/** Returns null if there is no such key. */
	byte[] get(String key) throws IOException;
}
