/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import crawlercommons.filters.basic.BasicURLNormalizer;
import java.net.MalformedURLException;
import java.util.Optional;

import org.ukthreads.pico.piranha.http.Target;

/** Makes one spelling of each URL, so that equal URLs can be found. */
final class Urls {
	private static final int MAX_LENGTH = 4096;

	private final BasicURLNormalizer normalizer = new BasicURLNormalizer();

	/**
	 * True for nearly all links: those with a lower-case host, perhaps a port, and a path of
	 * plain segments. The normaliser, which consists of regular expressions, would not change
	 * them.
	 */
	static boolean alreadyNormal(String url) {
		int at = url.startsWith("http://") ? 7 : url.startsWith("https://") ? 8 : -1;
		if (at < 0 || url.length() > MAX_LENGTH) {
			return false;
		}
		int path = url.indexOf('/', at);
		return path > 0 && plainHost(url, at, path) && plainPath(url, path);
	}

	/**
	 * True for letters, digits, and inner dots and dashes, and then no port or one of four or
	 * five digits.
	 */
	private static boolean plainHost(String url, int from, int to) {
		int end = from;
		while (end < to && (lower(url.charAt(end)) || digit(url.charAt(end))
				|| end > from && (url.charAt(end) == '.' || url.charAt(end) == '-')
				&& url.charAt(end - 1) != '.' && url.charAt(end - 1) != '-')) {
			end++;
		}
		if (end == from || url.charAt(end - 1) == '.' || url.charAt(end - 1) == '-'
				|| url.startsWith("xn--", from)) {
			return false;
		}
		if (end == to) {
			return true;
		}
		if (url.charAt(end) != ':' || to - end < 5 || to - end > 6 || url.charAt(end + 1) == '0') {
			return false;
		}
		for (int i = end + 1; i < to; i++) {
			if (!digit(url.charAt(i))) {
				return false;
			}
		}
		return Integer.parseInt(url.substring(end + 1, to)) <= 65_535;
	}

	/**
	 * True for segments of letters, digits and `_-`, with dots inside. Only the last one may be
	 * empty.
	 */
	static boolean plainPath(String url, int from) {
		if (url.charAt(from) != '/') {
			return false;
		}
		char before = '/';
		for (int i = from + 1; i < url.length(); i++) {
			char c = url.charAt(i);
			if (c == '/' || c == '.') {
				if (before == '/' || before == '.') {
					return false;
				}
			} else if (!lower(c) && !digit(c) && !(c >= 'A' && c <= 'Z') && c != '-' && c != '_') {
				return false;
			}
			before = c;
		}
		return before != '.';
	}

	private static boolean lower(char c) {
		return c >= 'a' && c <= 'z';
	}

	private static boolean digit(char c) {
		return c >= '0' && c <= '9';
	}

	/**
	 * Returns the URL without fragment, dot segments and default port; empty: it cannot be
	 * fetched.
	 */
	Optional<String> normal(String url) {
		String text = url.trim();
		if (alreadyNormal(text)) {
			return Optional.of(text);
		}
		if (text.isEmpty() || text.length() > MAX_LENGTH
				|| !(text.regionMatches(true, 0, "http://", 0, 7)
				|| text.regionMatches(true, 0, "https://", 0, 8))) {
			return Optional.empty();
		}
		String normal = normalizer.filter(text);
		if (normal == null) {
			return Optional.empty();
		}
		try {
			Target.of(normal);
			return Optional.of(normal);
		} catch (MalformedURLException e) {
			return Optional.empty();
		}
	}
}
