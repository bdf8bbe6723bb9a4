package org.ukthreads.pico.durable;

import java.io.Closeable;
import java.io.IOException;
import java.util.List;

/** Where snapshots are kept: values by key. Called by one thread at a time. */
public interface Store extends Closeable {
	/** A new value for a key; null: the key goes. */
	final class Change {
		public final String key;
		public final byte[] value;

		public Change(String key, byte[] value) {
			this.key = key;
			this.value = value;
		}
	}

	/**
	 * Makes the changes. On return they survive a crash of the machine; after a crash in
	 * between, some of the first ones are there, each whole or not at all.
	 */
	void apply(List<Change> changes) throws IOException;

	List<String> keys() throws IOException;

	/** Null: there is none. */
	byte[] get(String key) throws IOException;
}
