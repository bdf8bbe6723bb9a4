/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import org.jsoup.Jsoup;
import org.jsoup.nodes.Document;
import org.jsoup.nodes.Element;

import org.ukthreads.pico.piranha.http.HttpResponse;

/** Finds the links of an HTML page, as absolute normal URLs, each once. */
final class Links {
	private final Urls urls;

	Links(Urls urls) {
		this.urls = urls;
	}

	static boolean readable(String mediaType) {
		return mediaType.isEmpty() || mediaType.equals("text/html")
				|| mediaType.equals("application/xhtml+xml");
	}

	/** Returns the links, without those that the page asks robots not to follow. */
	List<String> of(String base, HttpResponse response) throws IOException {
		String charset = response.charset();
		if (!charset.isEmpty() && !supported(charset)) {
			charset = "";
		}
		// All bytes have arrived, so the parser never waits for the network.
		Document page = parse(response.body(), charset, base);
		String origin = origin(page.baseUri());
		Set<String> found = new LinkedHashSet<>();
		// Without a selector, because parsing one costs more than walking a page.
		for (Element element : page.getAllElements()) {
			switch (element.normalName()) {
				case "meta":
					if (element.attr("name").equalsIgnoreCase("robots")
							&& (nofollow(element.attr("content"))
							|| none(element.attr("content")))) {
						return new ArrayList<>();
					}
					break;
				case "frame":
				case "iframe":
					collect(absolute(element, "src", origin), found);
					break;
				case "a":
				case "area":
					if (element.hasAttr("href") && !nofollow(element.attr("rel"))) {
						collect(absolute(element, "href", origin), found);
					}
					break;
				default:
			}
		}
		return new ArrayList<>(found);
	}

	/** A string parses faster than a stream, which the parser reads in pieces. */
	private static Document parse(byte[] body, String charset, String base) throws IOException {
		if (charset.equalsIgnoreCase("utf-8") && !(body.length > 2 && body[0] == (byte) 0xef)) {
			return Jsoup.parse(new String(body, StandardCharsets.UTF_8), base);
		}
		return Jsoup.parse(new ByteArrayInputStream(body), charset.isEmpty() ? null : charset,
				base);
	}

	/** Returns scheme and authority, if they need no normalisation, otherwise "". */
	private static String origin(String base) {
		int path = base.indexOf('/', 8);
		String origin = path < 0 ? base : base.substring(0, path);
		return Urls.alreadyNormal(origin + "/") ? origin : "";
	}

	/** Does what absUrl does, but does not parse the base and the link if both are plain. */
	private static String absolute(Element element, String attribute, String origin) {
		String link = element.attr(attribute);
		if (Urls.alreadyNormal(link)) {
			return link;
		}
		if (!origin.isEmpty() && !link.isEmpty() && Urls.plainPath(link, 0)) {
			return origin + link;
		}
		return element.absUrl(attribute);
	}

	/** "none" means: neither index the page nor follow its links. */
	private static boolean none(String words) {
		return Arrays.asList(words.toLowerCase(Locale.ROOT).split("[\\s,]+")).contains("none");
	}

	private static boolean nofollow(String words) {
		return words.toLowerCase(Locale.ROOT).contains("nofollow");
	}

	private void collect(String url, Set<String> found) {
		Optional<String> normal = urls.normal(url);
		if (normal.isPresent()) {
			found.add(normal.get());
		}
	}

	private static boolean supported(String charset) {
		try {
			return Charset.isSupported(charset);
		} catch (IllegalArgumentException e) {
			return false;
		}
	}
}
