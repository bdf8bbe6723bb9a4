/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import crawlercommons.domains.EffectiveTldFinder;
import java.net.MalformedURLException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

import org.ukthreads.pico.piranha.http.Target;

/** Decides which URLs belong to the crawl. */
final class Scope {
	enum Kind { HOST, DOMAIN, PREFIX, ANY }

	private final Kind kind;
	private final Set<String> names = new HashSet<>();      /* hosts, or registered domains */
	private final List<String> prefixes = new ArrayList<>();
	private final List<Pattern> include;
	private final List<Pattern> exclude;

	Scope(Kind kind, List<String> seeds, List<Pattern> include, List<Pattern> exclude)
			throws MalformedURLException {
		this.kind = kind;
		this.include = include;
		this.exclude = exclude;
		for (String seed : seeds) {
			names.add(name(Target.of(seed).host()));
			prefixes.add(seed.substring(0, seed.lastIndexOf('/') + 1));
		}
	}

	boolean contains(String url) {
		return inKind(url) && (include.isEmpty() || matches(include, url))
				&& !matches(exclude, url);
	}

	private boolean inKind(String url) {
		if (kind == Kind.ANY) {
			return true;
		}
		if (kind == Kind.PREFIX) {
			for (String prefix : prefixes) {
				if (url.startsWith(prefix)) {
					return true;
				}
			}
			return false;
		}
		try {
			return names.contains(name(Target.of(url).host()));
		} catch (MalformedURLException e) {
			return false;
		}
	}

	private String name(String host) {
		if (kind != Kind.DOMAIN || Character.isDigit(host.charAt(host.length() - 1))) {
			return host;    /* an address has no domain */
		}
		String domain = EffectiveTldFinder.getAssignedDomain(host, true);
		return domain == null ? host : domain;
	}

	private static boolean matches(List<Pattern> patterns, String url) {
		for (Pattern pattern : patterns) {
			if (pattern.matcher(url).find()) {
				return true;
			}
		}
		return false;
	}
}
