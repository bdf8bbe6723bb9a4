// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable.spring;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.ukthreads.pico.durable.Codec;
import org.ukthreads.pico.durable.FileStore;
import org.ukthreads.pico.durable.Filter;
import org.ukthreads.pico.durable.JdbcStore;
import org.ukthreads.pico.durable.Page;
import org.ukthreads.pico.durable.Seal;
import org.ukthreads.pico.durable.Store;
import org.ukthreads.pico.durable.Vault;

/**
 * Makes a vault on the application's data source (or in a folder). A bean that a durable thread
 * refers to is saved as its name: every component of the application, and its data sources. Threads
 * are resumed when all beans exist. The application may define its own Store, Seal, Codec and
 * Vault.
 */
@AutoConfiguration(afterName =
	"org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration")
@EnableConfigurationProperties(DurableProperties.class)
public class DurableAutoConfiguration {
	@Bean(destroyMethod = "")
	@ConditionalOnMissingBean
	Store durableStore(ObjectProvider<DataSource> source, DurableProperties p)
			throws SQLException, IOException {
		DataSource s = source.getIfUnique();
		if (s == null && p.folder() == null)
			throw new IllegalStateException("durable threads need a data source or"
				+ " the property pico.durable.folder");
		if (s == null)
			return new FileStore(p.folder());
		JdbcStore j = new JdbcStore(s, p.table());
		if (p.worker() != null)
			j.worker(p.worker());
		if (p.lease() != null)
			j.lease(p.lease().toMillis());
		return j;
	}

	@Bean
	@ConditionalOnMissingBean
	Seal durableSeal(DurableProperties p) throws IOException {
		return Seal.file(p.key());
	}

	@Bean
	@ConditionalOnMissingBean
	Codec durableCodec(ApplicationContext context, DurableProperties p) {
		Codec c = new Codec(context.getClassLoader(), Filter.PROGRAM);
		return p.release() == null ? c : c.release(p.release());
	}

	@Bean
	@ConditionalOnMissingBean
	Vault vault(Store store, Seal seal, Codec codec, DurableProperties p) {
		Vault v = new Vault(store, seal, codec);
		return p.passiveAfter() == null ? v : v.passiveAfter(p.passiveAfter().toMillis());
	}

	@Bean
	DurableStart durableStart(ApplicationContext context, Codec codec, Vault vault) {
		return new DurableStart(context, codec, vault);
	}

	@Bean
	@ConditionalOnProperty("pico.durable.page")
	Page durablePage(Vault vault, DurableProperties p) throws IOException {
		return new Page(vault, new InetSocketAddress(InetAddress.getLoopbackAddress(),
			p.page()));
	}
}
