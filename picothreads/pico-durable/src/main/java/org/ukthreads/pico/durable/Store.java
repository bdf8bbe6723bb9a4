// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.Closeable;
import java.io.IOException;
import java.util.List;

/**
 * Where snapshots are kept: values by key. Called by one thread at a time. A store is one
 * vault's, but for JdbcStore, which many share.
 */
public interface Store extends Closeable {
	/** A new value for a key; null: the key goes. */
	final class Change {
		public final String key;
		public final byte[] value;

		/** When somebody should look at it next, epoch milliseconds; a hint. */
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
	 * Makes the changes. On return they survive a crash of the machine; after a crash in
	 * between, some of the first ones are there, each whole or not at all.
	 */
	void apply(List<Change> changes) throws IOException;

	List<String> keys() throws IOException;

	/** The hint that came with the record's value; 0: it was not kept. */
	default long due(String key) throws IOException {
		return 0;
	}

	/** Null: there is none. */
	byte[] get(String key) throws IOException;
}
