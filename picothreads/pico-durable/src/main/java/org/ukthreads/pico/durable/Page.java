// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.ukthreads.pico.NeverBlocks;

/**
 * Serves a vault's threads as a page (/) and its counters for Prometheus (/metrics). It changes
 * nothing, so it needs no password if those who can reach the address may see the threads' ids.
 */
@NeverBlocks
public final class Page implements Closeable {
	private static final int ROWS = 100;
	private final Vault vault;
	private final HttpServer server;

	/** Serves at that address; at any free port if the port is 0 (see port()). */
	public Page(Vault vault, InetSocketAddress at) throws IOException {
		this.vault = vault;
		server = HttpServer.create(at, 16);
		server.createContext("/", x -> answer(x, "text/html; charset=utf-8", x.getRequestURI()
			.getPath().equals("/") ? html(after(x)) : null));
		server.createContext("/metrics", x -> answer(x, "text/plain; version=0.0.4",
			metrics(vault.metrics())));
		server.start();
	}

	public int port() {
		return server.getAddress().getPort();
	}

	private static void answer(HttpExchange x, String type, String body) throws IOException {
		byte[] b = (body == null ? "not found\n" : body).getBytes(StandardCharsets.UTF_8);
		x.getResponseHeaders().set("Content-Type", body == null ? "text/plain" : type);
		boolean get = x.getRequestMethod().equals("GET");
		x.sendResponseHeaders(!get ? 405 : body == null ? 404 : 200, get ? b.length : -1);
		if (get)
			try (OutputStream out = x.getResponseBody()) {
				out.write(b);
			}
		x.close();
	}

	private static String after(HttpExchange x) throws IOException {
		String q = x.getRequestURI().getRawQuery();
		return q != null && q.startsWith("after=") ? URLDecoder.decode(q.substring(6), "UTF-8")
			: "";
	}

	static String metrics(Map<String, Long> m) {
		StringBuilder b = new StringBuilder();
		m.forEach((k, v) -> {
			boolean gauge = k.equals("running") || k.equals("workers");
			String name = "pico_durable_" + k + (gauge ? "" : "_total");
			b.append("# TYPE ").append(name).append(gauge ? " gauge" : " counter").append('\n')
				.append(name).append(' ').append(v).append('\n');
		});
		return b.toString();
	}

	private String html(String after) throws IOException {
		List<Status> l = vault.list(after, ROWS);
		StringBuilder b = new StringBuilder("<!doctype html><meta charset=utf-8><title>Durable"
			+ " threads</title><style>body{font:14px sans-serif;margin:2em}td,th{padding:.2em"
			+ " 1em;text-align:left}tr.failed{color:#b00}</style><h1>Durable threads</h1><p>");
		vault.metrics().forEach((k, v) -> b.append(k).append(' ').append(v).append(", "));
		b.setLength(b.length() - 2);
		b.append("<table><tr><th>id<th>state<th>worker<th>waits in<th>until<th>steps"
			+ "<th>messages<th>bytes<th>");
		for (Status s : l)
			b.append("<tr class=").append(s.state).append("><td>").append(text(s.id))
				.append("<td>").append(s.state).append("<td>").append(s.worker == 0 ? ""
				: "" + s.worker).append("<td>").append(s.waits).append("<td>")
				.append(s.until == Long.MAX_VALUE ? "" : Instant.ofEpochMilli(s.until))
				.append("<td>").append(s.steps).append("<td>").append(s.messages)
				.append("<td>").append(s.bytes).append("<td>").append(text(s.why));
		b.append("</table>");
		if (l.size() == ROWS)
			b.append("<p><a href='?after=").append(URLEncoder.encode(l.get(ROWS - 1).id,
				"UTF-8").replace("'", "%27")).append("'>more</a>");
		return b.toString();
	}

	private static String text(String s) {
		return s.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
	}

	@Override
	public void close() {
		server.stop(0);
	}
}
