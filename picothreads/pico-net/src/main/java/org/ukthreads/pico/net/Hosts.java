// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.ukthreads.pico.NeverBlocks;

/** The hosts file, checked for changes at most once a second. */
@NeverBlocks
final class Hosts {
	private static Map<String, List<InetAddress>> names = new HashMap<>();
	private static long checked;
	private static long modified = -1;
	private static Path read;

	private Hosts() {}

	static synchronized InetAddress[] find(String host) {
		Path file = Paths.get(System.getProperty("jdk.net.hosts.file",
			System.getProperty("os.name").startsWith("Windows")
				? System.getenv("SystemRoot") + "/system32/drivers/etc/hosts" : "/etc/hosts"));
		long now = System.nanoTime();
		if (!file.equals(read) || now - checked > 1_000_000_000L) {
			checked = now;
			refresh(file);
		}
		List<InetAddress> l = names.get(host.toLowerCase(Locale.ROOT));
		if (l == null)
			return null;
		List<InetAddress> named = new ArrayList<>();
		try {
			for (InetAddress a : l)
				named.add(InetAddress.getByAddress(host, a.getAddress()));
		} catch (UnknownHostException e) {
			throw new IllegalStateException(e);
		}
		return Dns.order(named);
	}

	private static void refresh(Path file) {
		try {
			long m = Files.getLastModifiedTime(file).toMillis();
			if (m == modified && file.equals(read))
				return;
			Map<String, List<InetAddress>> fresh = new HashMap<>();
			for (String line : Files.readAllLines(file, StandardCharsets.ISO_8859_1)) {
				String[] w = line.replaceAll("#.*", "").trim().split("\\s+");
				InetAddress a = w.length < 2 || !Dns.literal(w[0]) ? null : address(w[0]);
				for (int k = 1; a != null && k < w.length; k++)
					fresh.computeIfAbsent(w[k].toLowerCase(Locale.ROOT),
						x -> new ArrayList<>()).add(a);
			}
			names = fresh;
			modified = m;
			read = file;
		} catch (IOException e) {
			names = new HashMap<>();
			read = file;
			modified = -1;
		}
	}

	/** Returns null if the text only looks like a literal. */
	private static InetAddress address(String literal) {
		try {
			return InetAddress.getByName(literal);
		} catch (UnknownHostException e) {
			return null;
		}
	}
}
