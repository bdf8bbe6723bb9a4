// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable.spring;

import java.nio.file.Path;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * The properties {@code pico.durable.*} of the application.
 *
 * @param table the table in the data source; default: durable_threads
 * @param folder the store's folder if there is no data source, or several without a primary one
 * @param key the key file; default: durable.key
 * @param worker the worker's name, which at most one process may have
 * @param lease see JdbcStore.lease; default: 10 s
 * @param passiveAfter see Vault.passiveAfter
 * @param release see Codec.release
 * @param page the port of the page on the loopback address; default: no page
 */
@ConfigurationProperties("pico.durable")
public record DurableProperties(String table, Path folder, Path key, String worker,
		Duration lease, Duration passiveAfter, String release, Integer page) {
	public DurableProperties {
		table = table == null ? "durable_threads" : table;
		key = key == null ? Path.of("durable.key") : key;
	}
}
