// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable.spring;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import javax.sql.DataSource;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.context.ApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.stereotype.Component;
import org.ukthreads.pico.durable.Codec;
import org.ukthreads.pico.durable.Vault;

/**
 * Registers the beans by their names when all are made, and resumes the threads when the
 * application starts.
 */
final class DurableStart implements SmartInitializingSingleton, SmartLifecycle {
	private final ApplicationContext context;
	private final Codec codec;
	private final Vault vault;
	private volatile boolean running;

	DurableStart(ApplicationContext context, Codec codec, Vault vault) {
		this.context = context;
		this.codec = codec;
		this.vault = vault;
	}

	@Override
	public void afterSingletonsInstantiated() {
		name(context.getBeansWithAnnotation(Component.class));
		name(context.getBeansOfType(DataSource.class));
		codec.external("vault", vault);
	}

	private void name(Map<String, ?> beans) {
		beans.forEach((name, bean) -> {
			if (context.isSingleton(name))
				codec.external(name, bean);
		});
	}

	@Override
	public void start() {
		running = true;
		try {
			vault.resume();
		} catch (IOException e) {
			throw new UncheckedIOException(e);
		}
	}

	@Override
	public void stop() {
		running = false;
	}

	@Override
	public boolean isRunning() {
		return running;
	}
}
