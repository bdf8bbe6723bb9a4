// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.ukthreads.pico.Blocking;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Transport;

/*
 * Resolves names to addresses without blocking the carrier:
 *
 *   a literal                          --> itself
 *   a name in the hosts file (re-read when it has changed)
 *   localhost, or not in a fiber       --> the system's resolver (a fiber: on a helper thread)
 *   dnsjava, asynchronously            --> the fiber parks; positive answers are cached
 *   no server could be asked           --> the system's resolver, on a helper thread
 *
 * -Dpico.dns=system leaves dnsjava out, -Dpico.dns=ADDRESS:PORT,... names the servers;
 * -Djdk.net.hosts.file=FILE as in the JDK.
 */
public final class Dns {
	private static final boolean SYSTEM = "system".equals(System.getProperty("pico.dns"));

	private Dns() {}

	/** Replaces InetAddress.getByName. */
	public static InetAddress getByName(String host) throws UnknownHostException {
		return getAllByName(host)[0];
	}

	/** Replaces InetAddress.getAllByName. */
	public static InetAddress[] getAllByName(String host) throws UnknownHostException {
		if (host == null || host.isEmpty() || literal(host))
			return InetAddress.getAllByName(host);
		if (!Transport.isReal())
			return Transport.names().find(host);
		InetAddress[] a = Hosts.find(host);
		if (a != null)
			return a;
		if (host.equalsIgnoreCase("localhost") || SYSTEM || !Fiber.isFiber())
			return system(host);
		a = Resolver.lookUp(host);
		return a != null ? a : system(host);
	}

	/** Returns true for an address literal, which needs no look-up. */
	static boolean literal(String host) {
		if (host.indexOf(':') >= 0)
			return true;
		for (int k = 0; k < host.length(); k++) {
			char c = host.charAt(k);
			if (c != '.' && (c < '0' || c > '9'))
				return false;
		}
		return true;
	}

	private static InetAddress[] system(String host) throws UnknownHostException {
		return (InetAddress[]) helped(() -> InetAddress.getAllByName(host));
	}

	private static Object helped(Callable<?> c) throws UnknownHostException {
		try {
			return Blocking.call(c);
		} catch (UnknownHostException e) {
			throw e;
		} catch (RuntimeException e) {
			throw e;
		} catch (Exception e) {
			throw new IllegalStateException(e);
		}
	}

	public static InetAddress getLocalHost() throws UnknownHostException {
		if (!Transport.isReal())
			return Transport.names().local();
		return (InetAddress) helped(InetAddress::getLocalHost);
	}

	public static String getHostName(InetAddress a) {
		return name(a::getHostName, a);
	}

	public static String getCanonicalHostName(InetAddress a) {
		return name(a::getCanonicalHostName, a);
	}

	public static String getHostName(InetSocketAddress a) {
		return a.isUnresolved() ? a.getHostString() : name(a::getHostName, a.getAddress());
	}

	private static String name(Callable<String> c, InetAddress a) {
		if (!Transport.isReal())
			return Transport.names().name(a);
		try {
			return (String) helped(c);
		} catch (UnknownHostException e) {
			throw new IllegalStateException(e);
		}
	}

	public static boolean isReachable(InetAddress a, int millis) throws IOException {
		return isReachable(a, null, 0, millis);
	}

	public static boolean isReachable(InetAddress a, NetworkInterface via, int ttl, int millis)
			throws IOException {
		if (!Transport.isReal())
			return Transport.names().isReachable(a);
		try {
			return (Boolean) Blocking.call(() -> a.isReachable(via, ttl, millis));
		} catch (IOException | RuntimeException e) {
			throw e;
		} catch (Exception e) {
			throw new IOException(e);
		}
	}

	static InetAddress[] order(List<InetAddress> all) {
		List<InetAddress> l = new ArrayList<>();
		boolean six = Boolean.getBoolean("java.net.preferIPv6Addresses");
		for (InetAddress a : all)
			if (a.getAddress().length == (six ? 16 : 4))
				l.add(a);
		for (InetAddress a : all)
			if (a.getAddress().length != (six ? 16 : 4))
				l.add(a);
		return l.toArray(new InetAddress[0]);
	}
}
