// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.channels.spi.SelectorProvider;

/**
 * The source of channels and selectors: the system's provider or, for a simulation, one in
 * memory. The code that installs the runtime sets it, between runs.
 */
@Internal
public final class Transport {
	/** A selector whose select() does not block: a fiber that waits for it parks. */
	public interface Parkable {
		/**
		 * From now on unparks f when a channel is ready or wakeup() is called; null: no fiber
		 * waits.
		 */
		void waiter(Fiber f);

		/** True: wakeup() was called since this was last asked. */
		boolean woken();
	}

	/** The names of hosts in the provider's network. */
	public interface Names {
		InetAddress[] find(String host) throws UnknownHostException;

		InetAddress local();

		String name(InetAddress a);

		boolean isReachable(InetAddress a);
	}

	private static volatile SelectorProvider provider;
	private static volatile Names names;

	private Transport() {}

	/** Installs a provider and its names; null: the system's. */
	public static void install(SelectorProvider p, Names n) {
		names = n;
		provider = p;
	}

	public static SelectorProvider provider() {
		SelectorProvider p = provider;
		return p != null ? p : SelectorProvider.provider();
	}

	/** The installed names; null with the system's provider. */
	public static Names names() {
		return names;
	}

	/** True: the provider is the system's. */
	public static boolean isReal() {
		return provider == null;
	}
}
