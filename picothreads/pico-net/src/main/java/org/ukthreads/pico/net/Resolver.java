// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.function.BiConsumer;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.NeverBlocks;
import org.xbill.DNS.AAAARecord;
import org.xbill.DNS.ARecord;
import org.xbill.DNS.ExtendedResolver;
import org.xbill.DNS.Name;
import org.xbill.DNS.Record;
import org.xbill.DNS.ResolverConfig;
import org.xbill.DNS.SimpleResolver;
import org.xbill.DNS.TextParseException;
import org.xbill.DNS.Type;
import org.xbill.DNS.lookup.LookupResult;
import org.xbill.DNS.lookup.LookupSession;
import org.xbill.DNS.lookup.NoSuchDomainException;
import org.xbill.DNS.lookup.NoSuchRRSetException;

/** Looks names up with dnsjava. The caller sends the queries; dnsjava's thread gets the answers. */
final class Resolver {
	private Resolver() {}

	@NeverBlocks
	private static final class Session {
		static final LookupSession IT = make();

		private static LookupSession make() {
			ExtendedResolver all = new ExtendedResolver(servers());
			all.setTimeout(Duration.ofSeconds(15));
			all.setRetries(3);
			return LookupSession.defaultBuilder().resolver(all).build();
		}

		/**
		 * One try has a shorter timeout than the look-up, so that a lost query is repeated in
		 * time.
		 */
		private static List<org.xbill.DNS.Resolver> servers() {
			List<InetSocketAddress> at = new ArrayList<>();
			String named = System.getProperty("pico.dns");
			if (named == null)
				at.addAll(ResolverConfig.getCurrentConfig().servers());
			else
				for (String s : named.split(",")) {
					int k = s.lastIndexOf(':');
					at.add(new InetSocketAddress(k < 0 ? s : s.substring(0, k),
						k < 0 ? 53 : Integer.parseInt(s.substring(k + 1))));
				}
			List<org.xbill.DNS.Resolver> l = new ArrayList<>();
			for (InetSocketAddress a : at) {
				SimpleResolver r = new SimpleResolver(a);
				r.setTimeout(Duration.ofSeconds(3));
				l.add(r);
			}
			return l;
		}
	}

	/** A query, whose answer wakes the fiber. */
	@NeverBlocks
	private static final class Query implements BiConsumer<LookupResult, Throwable> {
		private final Fiber fiber = Fiber.current();
		private final List<InetAddress> into;
		volatile boolean done;
		boolean failed;

		Query(List<InetAddress> into) {
			this.into = into;
		}

		void send(Name name, int type) {
			Session.IT.lookupAsync(name, type).whenComplete(this);
		}

		@Override
		public void accept(LookupResult r, Throwable e) {
			Throwable x = e instanceof CompletionException ? e.getCause() : e;
			if (x == null)
				add(r);
			else
				failed |= !(x instanceof NoSuchDomainException || x instanceof NoSuchRRSetException);
			done = true;
			fiber.unpark();
		}

		private void add(LookupResult r) {
			synchronized (into) {
				for (Record x : r.getRecords())
					if (x instanceof ARecord)
						into.add(((ARecord) x).getAddress());
					else if (x instanceof AAAARecord)
						into.add(((AAAARecord) x).getAddress());
			}
		}
	}

	/** Returns null if no server could be asked. */
	static InetAddress[] lookUp(String host) throws UnknownHostException {
		Name name;
		try {
			name = Name.fromString(host);
		} catch (TextParseException e) {
			throw new UnknownHostException(host);
		}
		List<InetAddress> all = new ArrayList<>();
		Query four = new Query(all);
		Query six = new Query(all);
		four.send(name, Type.A);
		six.send(name, Type.AAAA);
		boolean interrupted = false;
		while (!four.done || !six.done) {
			Fiber.park();
			interrupted |= Thread.interrupted();
		}
		if (interrupted)
			Thread.currentThread().interrupt();
		if (all.isEmpty() && (four.failed || six.failed))
			return null;
		if (all.isEmpty())
			throw new UnknownHostException(host + ": Name or service not known");
		List<InetAddress> named = new ArrayList<>();
		for (InetAddress a : all)
			named.add(InetAddress.getByAddress(host, a.getAddress()));
		return Dns.order(named);
	}
}
