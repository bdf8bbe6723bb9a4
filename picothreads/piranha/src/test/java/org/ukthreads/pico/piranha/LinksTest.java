/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import crawlercommons.filters.basic.BasicURLNormalizer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.jsoup.Jsoup;
import org.jsoup.nodes.Document;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.ukthreads.pico.piranha.http.HttpClient;
import org.ukthreads.pico.piranha.http.HttpLimits;
import org.ukthreads.pico.piranha.http.HttpResponse;
import org.ukthreads.pico.piranha.http.Target;

@Timeout(20)
final class LinksTest {
	private static final String BASE = "http://h.example/dir/page.html";

	@Test
	void links_are_absolute_normal_and_told_once() throws IOException {
		assertEquals(List.of("http://h.example/dir/a", "http://h.example/b?x=1",
				"http://other.example/", "http://h.example/area", "http://h.example/frame"),
				links("<a href=a>1</a><a href='/dir/../b?x=1#top'>2</a><a href='./a#z'>3</a>"
				+ "<a href='HTTP://Other.Example:80'>4</a><area href=/area><iframe src=/frame>"
				+ "</iframe><a name=x>5</a><img src=/no.png><a href=''>self</a>", "text/html")
				.subList(0, 5));
	}

	@Test
	void what_is_no_web_page_is_no_link() throws IOException {
		assertEquals(List.of(), links("<a href='mailto:a@b'>1</a><a href='javascript:x()'>2</a>"
				+ "<a href='ftp://h/'>3</a><a href='http://'>4</a><a href='http://[x'>5</a>"
				+ "<a href='data:text/html,x'>6</a>", "text/html"));
	}

	@Test
	void a_page_may_ask_not_to_be_followed() throws IOException {
		assertEquals(List.of(), links("<meta name=ROBOTS content='noindex, NoFollow'>"
				+ "<a href=/a>1</a>", "text/html"));
		assertEquals(List.of(), links("<meta name=robots content='noarchive, NONE'>"
				+ "<a href=/a>1</a>", "text/html"));
		assertEquals(List.of("http://h.example/b"),
				links("<a rel='x nofollow' href=/a>1</a><a href=/b>2</a>", "text/html"));
	}

	@Test
	void the_base_element_counts() throws IOException {
		assertEquals(List.of("http://b.example/x/a"),
				links("<base href='http://b.example/x/'><a href=a>1</a>", "text/html"));
	}

	@Test
	void the_charset_of_the_header_or_the_page_counts() throws IOException {
		String page = "<a href='/\u00e4'>1</a>";
		List<String> expected = List.of("http://h.example/%C3%A4");
		assertEquals(expected, links(page, "text/html; charset=utf-8"));
		assertEquals(expected, links(page, "text/html; charset=iso-8859-1",
				StandardCharsets.ISO_8859_1));
		assertEquals(expected, links("<meta charset=iso-8859-1>" + page, "text/html",
				StandardCharsets.ISO_8859_1));
		assertEquals(expected, links(page, "text/html; charset=no-such"));
	}

	private static List<String> linksOf(String base, String page) throws IOException {
		return new Links(new Urls()).of(base, response(page.getBytes(StandardCharsets.UTF_8),
				"text/html; charset=utf-8"));
	}

	private static List<String> links(String page, String type) throws IOException {
		return links(page, type, StandardCharsets.UTF_8);
	}

	private static List<String> links(String page, String type, Charset charset)
			throws IOException {
		return new Links(new Urls()).of(BASE, response(page.getBytes(charset), type));
	}

	/** Makes a response through a real connection, because there is no other way to make one. */
	private static HttpResponse response(byte[] body, String type) throws IOException {
		try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
			ByteArrayOutputStream answer = new ByteArrayOutputStream();
			answer.write(("HTTP/1.1 200 OK\r\nContent-Type: " + type + "\r\nContent-Length: "
					+ body.length + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
			answer.write(body);
			Thread thread = new Thread(() -> {
				try (Socket socket = server.accept()) {
					socket.getInputStream().read(new byte[1000]);
					socket.getOutputStream().write(answer.toByteArray());
				} catch (IOException e) {
					throw new IllegalStateException(e);
				}
			});
			thread.start();
			HttpClient http = new HttpClient("T", new HttpLimits(1000, 1000, 1000, 100_000),
					false, false);
			return http.get(Target.of("http://127.0.0.1:" + server.getLocalPort() + "/"));
		}
	}

	/**
	 * Combines pieces that matter to the normaliser, which must not change the URLs that
	 * alreadyNormal() accepts.
	 */
	@Test
	void the_short_way_takes_only_what_the_normaliser_keeps() {
		String[] pieces = {"http://", "https://", "a", "B", "7", ".", "..", "-", "_", "/", "//", ":80",
			":443", ":8080", ":0080", ":99999", ":", "~", "%41", "%7e", "?", "a=b", "#", "example.org",
			"127.0.0.1", "xn--", "index.html", ";x", "@", " ", "é", "0", "p"};
		Random random = new Random(1997);
		BasicURLNormalizer normalizer = new BasicURLNormalizer();
		int taken = 0;
		for (int i = 0; i < 300_000; i++) {
			StringBuilder url = new StringBuilder(random.nextInt(10) == 0 ? ""
					: "http://h" + (random.nextBoolean() ? "" : "/"));
			for (int n = random.nextInt(7); n >= 0; n--) {
				url.append(pieces[random.nextInt(pieces.length)]);
			}
			if (Urls.alreadyNormal(url.toString())) {
				taken++;
				assertEquals(url.toString(), normalizer.filter(url.toString()));
				Optional<String> same = new Urls().normal(url.toString());
				assertEquals(url.toString(), same.orElse("none"));
			}
		}
		assertTrue(taken > 10_000, taken + " taken");
	}

	@Test
	void links_are_absolute_with_and_without_the_short_way() throws Exception {
		String[] bases = {"http://h/a/b.html", "http://h:8080", "https://H/a", "http://h:80/x?y/z"};
		String[] links = {"/a/b", "/", "//other/x", "c", "../c", "/a/../b", "?q", "#f", "http://x/y",
			"HTTP://X/y", "/a//b", "/a%20b", "/a b", "", "javascript:x", "http://x", "/a/b#c"};
		for (String base : bases) {
			for (String link : links) {
				Document page = Jsoup.parse("<a href='" + link + "'>x</a>", base);
				String slow = page.selectFirst("a").absUrl("href");
				Set<String> want = new LinkedHashSet<>();
				new Urls().normal(slow).ifPresent(want::add);
				assertEquals(List.copyOf(want), linksOf(base, "<a href='" + link + "'>x</a>"),
						base + " " + link);
			}
		}
		assertEquals(List.of("http://other/a"), linksOf("http://h/",
				"<base href='http://other/x/'><a href='/a'>x</a>"));
	}
}
