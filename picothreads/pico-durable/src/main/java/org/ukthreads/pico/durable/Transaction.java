// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * What a durable thread does in a database, in a transaction that is not its own: it must
 * neither commit nor roll back, and do nothing else, for it may be made again.
 */
public interface Transaction<T> {
	/** The result is Serializable, or null. */
	T run(Connection db) throws SQLException;
}
