/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import crawlercommons.sitemaps.AbstractSiteMap;
import crawlercommons.sitemaps.SiteMap;
import crawlercommons.sitemaps.SiteMapIndex;
import crawlercommons.sitemaps.SiteMapParser;
import crawlercommons.sitemaps.SiteMapURL;
import crawlercommons.sitemaps.UnknownFormatException;
import java.io.IOException;
import java.net.URL;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

import org.ukthreads.pico.piranha.frontier.Link;
import org.ukthreads.pico.piranha.http.HttpResponse;
import org.ukthreads.pico.piranha.http.Target;

/**
 * Reads seeds from the sitemaps that the robots.txt of the seeds names, or else from
 * /sitemap.xml.
 */
final class Sitemaps {
	private static final int MAX_FILES = 1000;

	private final Crawl crawl;
	private final SiteMapParser parser = new SiteMapParser(false);

	Sitemaps(Crawl crawl) {
		this.crawl = crawl;
	}

	/** Returns the URLs. Skips a sitemap that cannot be fetched or read. */
	List<Link> links(List<String> seeds) throws IOException, InterruptedException {
		ArrayDeque<String> files = new ArrayDeque<>();
		Set<String> seen = new HashSet<>();
		for (String seed : seeds) {
			Target target = Target.of(seed);
			if (seen.add(target.origin())) {
				List<String> named = crawl.robots().rules(target).sitemaps();
				files.addAll(named);
				if (named.isEmpty()) {
					files.add(target.origin() + "/sitemap.xml");
				}
			}
		}
		List<Link> found = new ArrayList<>();
		for (int n = 0; n < MAX_FILES && !files.isEmpty() && !crawl.stopping(); n++) {
			String file = files.remove();
			if (seen.add(file)) {
				read(file, files, found);
			}
		}
		return found;
	}

	private void read(String file, ArrayDeque<String> files, List<Link> found)
			throws InterruptedException {
		AbstractSiteMap map;
		try {
			HttpResponse response = politely(Target.of(file));
			if (response.status() != 200) {
				return;
			}
			map = parser.parseSiteMap(response.mediaType(), response.body(), new URL(file));
		} catch (IOException | UnknownFormatException | RuntimeException e) {
			return;
		}
		if (map instanceof SiteMapIndex) {
			for (AbstractSiteMap part : ((SiteMapIndex) map).getSitemaps()) {
				files.add(part.getUrl().toString());
			}
		} else if (map instanceof SiteMap) {
			for (SiteMapURL entry : ((SiteMap) map).getSiteMapUrls()) {
				Optional<String> url = crawl.urls().normal(entry.getUrl().toString());
				if (url.isPresent() && crawl.scope().contains(url.get())) {
					found.add(Link.seed(url.get()));
				}
			}
		}
	}

	private HttpResponse politely(Target target) throws IOException, InterruptedException {
		HostGate gate = crawl.gates().of(target.origin());
		gate.enter();
		try {
			HttpResponse response = crawl.http().get(target);
			response.release();     /* one sitemap at a time, and no visit runs yet */
			return response;
		} finally {
			gate.leave();
		}
	}
}
