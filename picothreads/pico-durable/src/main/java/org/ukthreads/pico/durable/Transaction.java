// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * What a durable thread does in a database, in a transaction that the caller ends. It must neither
 * commit nor roll back, and it must have no other effects, because it may run again. Of the calls in
 * Durable it may make id, key, isCancelled, and version for a name that the thread has asked before;
 * the others, and those of a vault, throw an IllegalStateException.
 */
public interface Transaction<T> {
	/** Returns a Serializable result, or null. */
	T run(Connection db) throws SQLException;
}
