// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable.spring;

import java.nio.file.Path;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * pico.durable.* of the application.
 *
 * @param table of the data source; durable_threads unless told
 * @param folder where there is no data source
 * @param key the key file; durable.key unless told
 * @param worker the worker's name, if there is at most one process of that name
 * @param lease 10 s unless told
 * @param passiveAfter see Vault.passiveAfter
 * @param release the program's name for itself, for version guards
 * @param page the port of the page on the loopback address; none unless told
 */
@ConfigurationProperties("pico.durable")
public record DurableProperties(String table, Path folder, Path key, String worker,
		Duration lease, Duration passiveAfter, String release, Integer page) {
	public DurableProperties {
		table = table == null ? "durable_threads" : table;
		key = key == null ? Path.of("durable.key") : key;
	}
}
