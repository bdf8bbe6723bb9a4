/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers of the test web to each path. Besides the graph's pages there are traps, each
 * linked once from page 0 (see trapLinks). A crawler that falls for a trap hangs, loops, or
 * fetches something that it must not fetch.
 *
 *   /robots.txt          disallows /private/, names the sitemap, may ask for a crawl delay
 *   /sitemap.xml         an index of one sitemap, which lists a page that nothing links to
 *   /moved/N             301 to page N                /loop/a <-> /loop/b   a redirect loop
 *   /chain/N             302 to /chain/N+1, for ever  /self                 302 to itself
 *   /huge.html           8 MB                         /stall.html           never answers
 *   /slow.html           one byte per 100 ms          /cut.html             half a body, then closes
 *   /missing.html 404    /broken.html 503             /data.bin             not text
 *   /liar.html           a picture's content type     /chunked.html         chunked encoding
 *   /gzip.html           gzip encoding                /cal/N                an endless calendar
 *   /private/x.html      forbidden by robots.txt      /nofollow.html        links not to follow
 */
package org.ukthreads.pico.piranha.web;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.zip.GZIPOutputStream;

final class Site {
	private static final String HTML = "text/html; charset=utf-8";
	private static final int FILLER = 1 << 20;
	private static final int HUGE = 8 << 20;
	private static final byte[] TAIL = "</p></body></html>\n".getBytes(StandardCharsets.US_ASCII);

	private final WebGraph graph;
	private final int port;
	private final long delayNanos;
	private final boolean traps;
	private final int crawlDelaySeconds;
	private final ByteBuffer filler = filler();

	Site(WebGraph graph, int port, long delayNanos, boolean traps, int crawlDelaySeconds) {
		this.graph = graph;
		this.port = port;
		this.delayNanos = delayNanos;
		this.traps = traps;
		this.crawlDelaySeconds = crawlDelaySeconds;
	}

	Reply reply(int host, String path, boolean close) {
		if (path.startsWith("/p/")) {
			int page = number(path, "/p/", ".html");
			return page >= 0 && page < graph.pages() && graph.host(page) == host
					? page(page, close) : error(404, close);
		}
		if (path.equals("/robots.txt")) {
			return text("text/plain", robots(host), close);
		}
		if (path.equals("/") && host == 0) {
			return redirect(301, graph.path(0), close);
		}
		return traps ? trap(host, path, close) : error(404, close);
	}

	private Reply trap(int host, String path, boolean close) {
		if (path.startsWith("/moved/")) {
			int page = number(path, "/moved/", "");
			return page < 0 || page >= graph.pages() ? error(404, close)
					: redirect(301, absolute(page), close);
		}
		if (path.startsWith("/chain/")) {
			return redirect(302, "/chain/" + (number(path, "/chain/", "") + 1), close);
		}
		if (path.startsWith("/cal/")) {
			int day = number(path, "/cal/", "");
			return html("<a href='/cal/" + (day + 1) + "'>tomorrow</a>", close);
		}
		switch (path) {
			case "/sitemap.xml":
				return text("application/xml", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
						+ "<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">"
						+ "<sitemap><loc>" + base(host) + "/sitemap-1.xml</loc></sitemap>"
						+ "</sitemapindex>\n", close);
			case "/sitemap-1.xml":
				return text("application/xml", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
						+ "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"><url><loc>"
						+ base(host) + "/hidden.html</loc></url></urlset>\n", close);
			case "/loop/a": return redirect(302, "/loop/b", close);
			case "/loop/b": return redirect(302, "/loop/a", close);
			case "/self": return redirect(302, "/self", close);
			case "/huge.html": return huge();
			case "/stall.html": return Reply.of(TimeUnit.MINUTES.toNanos(10), true);
			case "/slow.html": return slow();
			case "/cut.html":
				return Reply.of(delayNanos, true, Reply.head(200, HTML, 5000, true, ""),
						Reply.ascii("<html><a href='/from-cut.html'>x</a>"));
			case "/broken.html": return error(503, close);
			case "/data.bin": return text("application/octet-stream", "\1\2<a href='/no'>", close);
			case "/liar.html": return text("image/png", "<a href='/from-liar.html'>", close);
			case "/chunked.html": return chunked(close);
			case "/gzip.html": return gzip(close);
			case "/nofollow.html":
				return html("<a rel=nofollow href='/from-nofollow.html'>x</a>", close);
			case "/hidden.html":
			case "/from-chunked.html":
			case "/from-gzip.html":
			case "/private/x.html":
			case "/from-nofollow.html":
				return html("<p>a leaf</p>", close);
			default: return error(404, close);
		}
	}

	/** Adds links from page 0 to every trap. */
	private static void trapLinks(StringBuilder html) {
		String[] paths = {"/moved/3", "/loop/a", "/chain/0", "/self", "/huge.html", "/stall.html",
			"/slow.html", "/cut.html", "/missing.html", "/broken.html", "/data.bin", "/liar.html",
			"/chunked.html", "/gzip.html", "/cal/0", "/private/x.html", "/nofollow.html"};
		for (String path : paths) {
			html.append("<li><a href=\"").append(path).append("\">trap</a>\n");
		}
		// This page under another spelling, and links that are no pages at all.
		html.append("<a href='/p/../p/0.html#top'>self</a><a href='mailto:a@b.example'>m</a>"
				+ "<a href='javascript:void(0)'>j</a><a href='http://[bad'>b</a>"
				+ "<a href='ftp://127.0.0.1/x'>f</a>\n");
	}

	private Reply page(int page, boolean close) {
		StringBuilder html = new StringBuilder(256);
		html.append("<!doctype html><html><head><title>Page ").append(page)
				.append("</title></head><body><ul>\n");
		for (int link : graph.links(page)) {
			html.append("<li><a href=\"");
			if (graph.host(link) != graph.host(page)) {
				html.append(base(graph.host(link)));
			}
			html.append(graph.path(link)).append("\">").append(link).append("</a>\n");
		}
		if (page == 0 && traps) {
			trapLinks(html);
		}
		html.append("</ul><p>");
		byte[] top = html.toString().getBytes(StandardCharsets.UTF_8);
		int fill = Math.max(0, graph.size(page) - top.length - TAIL.length);
		ByteBuffer[] parts = new ByteBuffer[3 + fill / FILLER + 1];
		int n = 0;
		parts[n++] = Reply.head(200, HTML, (long) top.length + fill + TAIL.length, close, "");
		parts[n++] = ByteBuffer.wrap(top);
		while (n < parts.length - 1) {
			ByteBuffer part = filler.duplicate();
			part.limit(Math.min(FILLER, fill));
			fill -= part.limit();
			parts[n++] = part;
		}
		parts[n] = ByteBuffer.wrap(TAIL);
		return Reply.of(delayNanos, close, parts);
	}

	private String robots(int host) {
		return "User-agent: *\nDisallow: /private/\n"
				+ (crawlDelaySeconds > 0 ? "Crawl-delay: " + crawlDelaySeconds + "\n" : "")
				+ (traps ? "Sitemap: " + base(host) + "/sitemap.xml\n" : "");
	}

	private Reply huge() {
		ByteBuffer[] parts = new ByteBuffer[2 + HUGE / FILLER];
		parts[0] = Reply.head(200, HTML, HUGE + 22, true, "");
		parts[1] = Reply.ascii("<html><body><p>a page.");
		for (int i = 2; i < parts.length; i++) {
			parts[i] = filler.duplicate();
		}
		return Reply.of(delayNanos, true, parts);
	}

	private Reply slow() {
		Reply reply = Reply.of(delayNanos, true, Reply.head(200, HTML, 600, true, ""));
		for (int i = 0; i < 600; i++) {
			reply.then(TimeUnit.MILLISECONDS.toNanos(100), Reply.ascii("."));
		}
		return reply;
	}

	private Reply chunked(boolean close) {
		return Reply.of(delayNanos, close,
				Reply.head(200, HTML, -1, close, "Transfer-Encoding: chunked\r\n"),
				Reply.ascii("6\r\n<html>\r\n22;ext=1\r\n<a href='/from-chunked.html'>x</a>\r\n"
						+ "0\r\nTrailer: x\r\n\r\n"));
	}

	private Reply gzip(boolean close) {
		ByteArrayOutputStream bytes = new ByteArrayOutputStream();
		try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
			out.write("<html><a href='/from-gzip.html'>x</a></html>"
					.getBytes(StandardCharsets.US_ASCII));
		} catch (IOException e) {
			throw new IllegalStateException("a byte array stream cannot fail", e);
		}
		return Reply.of(delayNanos, close, Reply.head(200, HTML, bytes.size(), close,
				"Content-Encoding: gzip\r\n"), ByteBuffer.wrap(bytes.toByteArray()));
	}

	private Reply html(String body, boolean close) {
		return text(HTML, "<!doctype html><html><body>" + body + "</body></html>\n", close);
	}

	private Reply text(String type, String body, boolean close) {
		ByteBuffer bytes = Reply.ascii(body);
		return Reply.of(delayNanos, close,
				Reply.head(200, type, bytes.remaining(), close, ""), bytes);
	}

	private Reply redirect(int status, String location, boolean close) {
		return Reply.of(delayNanos, close,
				Reply.head(status, "", 0, close, "Location: " + location + "\r\n"));
	}

	private Reply error(int status, boolean close) {
		ByteBuffer body = Reply.ascii("<html><body>" + status + "</body></html>\n");
		return Reply.of(delayNanos, close,
				Reply.head(status, "text/html", body.remaining(), close, ""), body);
	}

	private String absolute(int page) {
		return base(graph.host(page)) + graph.path(page);
	}

	private String base(int host) {
		return "http://" + TestWeb.address(host) + ":" + port;
	}

	/** Returns the number between a prefix and a suffix, or -1. */
	private static int number(String path, String prefix, String suffix) {
		if (!path.endsWith(suffix)) {
			return -1;
		}
		try {
			return Integer.parseInt(
					path.substring(prefix.length(), path.length() - suffix.length()));
		} catch (NumberFormatException e) {
			return -1;
		}
	}

	private static ByteBuffer filler() {
		byte[] text = new byte[FILLER];
		byte[] words = ("The reason that event-based programming is popular is that it solves a "
				+ "large class of problems which do not require true concurrency.</p>\n<p>")
				.getBytes(StandardCharsets.US_ASCII);
		for (int i = 0; i < text.length; i++) {
			text[i] = words[i % words.length];
		}
		return ByteBuffer.wrap(text).asReadOnlyBuffer();
	}
}
