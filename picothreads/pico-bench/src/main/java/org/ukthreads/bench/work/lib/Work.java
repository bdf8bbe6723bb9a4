// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.bench.work.lib;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/** Work for the libraries, which never blocks. Each call returns a number to compare. */
public final class Work {
	public static final class Order {
		public int id;
		public String customer;
		public double total;
		public List<String> lines = new ArrayList<>();
		public Map<String, Integer> stock = new LinkedHashMap<>();
	}

	private Work() {}

	private static List<Order> orders() {
		List<Order> all = new ArrayList<>();
		for (int k = 0; k < 100; k++) {
			Order o = new Order();
			o.id = k;
			o.customer = "customer \"" + k + "\" of \u00dcber Street";
			o.total = k * 1.25;
			for (int j = 0; j < 10; j++) {
				o.lines.add("line " + j + " of order " + k);
				o.stock.put("article-" + j, j * k);
			}
			all.add(o);
		}
		return all;
	}

	public static Callable<Integer> make(String name) throws Exception {
		switch (name) {
		case "gson":
			return gson();
		case "jackson-write":
			com.fasterxml.jackson.databind.ObjectMapper w =
				new com.fasterxml.jackson.databind.ObjectMapper();
			List<Order> all = orders();
			return () -> w.writeValueAsString(all).length();
		case "jackson-read":
			com.fasterxml.jackson.databind.ObjectMapper m =
				new com.fasterxml.jackson.databind.ObjectMapper();
			byte[] json = m.writeValueAsBytes(orders());
			return () -> m.readValue(json, Order[].class).length + m.readTree(json).size();
		case "jsoup":
			return jsoup();
		case "h2":
			return h2();
		case "regex":
			return regex();
		default:
			throw new IllegalArgumentException(name);
		}
	}

	private static Callable<Integer> gson() {
		com.google.gson.Gson g = new com.google.gson.Gson();
		List<Order> all = orders();
		return () -> {
			String s = g.toJson(all);
			return s.length() + g.fromJson(s, Order[].class).length;
		};
	}

	private static Callable<Integer> jsoup() {
		StringBuilder b = new StringBuilder("<html><body>");
		for (int k = 0; k < 200; k++)
			b.append("<div class='c").append(k % 7).append("'><p>Text &amp; more <b>").append(k)
				.append("</b><a href='/page/").append(k).append("'>link</a></p></div>");
		String page = b.append("</body></html>").toString();
		return () -> {
			org.jsoup.nodes.Document d = org.jsoup.Jsoup.parse(page, "http://localhost/");
			int n = d.text().length();
			for (org.jsoup.nodes.Element e : d.select("div.c3 a[href]"))
				n += e.absUrl("href").length();
			return n;
		};
	}

	private static Callable<Integer> h2() throws SQLException, IOException {
		org.h2.Driver.load();
		Connection c = DriverManager.getConnection("jdbc:h2:mem:bench" + System.nanoTime());
		try (Statement s = c.createStatement()) {
			s.execute("create table t(id int primary key, name varchar(40), v double)");
		}
		try (PreparedStatement p = c.prepareStatement("insert into t values(?, ?, ?)")) {
			for (int k = 0; k < 2000; k++) {
				p.setInt(1, k);
				p.setString(2, "name " + k % 100);
				p.setDouble(3, k * 0.5);
				p.execute();
			}
		}
		PreparedStatement q = c.prepareStatement("select name, count(*), sum(v) from t "
			+ "where id between ? and ? and name like '%7%' group by name order by 3 desc");
		return () -> {
			int n = 0;
			for (int k = 0; k < 10; k++) {
				q.setInt(1, k * 10);
				q.setInt(2, 1000 + k * 50);
				try (ResultSet r = q.executeQuery()) {
					while (r.next())
						n += r.getInt(2) + r.getString(1).length();
				}
			}
			return n;
		};
	}

	/**
	 * A regular expression engine in Java. (The JDK's own is not translated, so it would show
	 * nothing.)
	 */
	private static Callable<Integer> regex() {
		com.google.re2j.Pattern p = com.google.re2j.Pattern.compile(
			"([a-z]+)-(\\d+)@([a-z.]+)\\.(org|com)");
		StringBuilder b = new StringBuilder();
		for (int k = 0; k < 300; k++)
			b.append("some words ").append(k).append(" user-").append(k)
				.append("@mail.example.").append(k % 3 == 0 ? "net" : "org").append('\n');
		String text = b.toString();
		return () -> {
			com.google.re2j.Matcher m = p.matcher(text);
			int n = 0;
			while (m.find())
				n += m.group(2).length() + m.start();
			return n + text.getBytes(StandardCharsets.UTF_8).length;
		};
	}

	/** Runs work n times on a new thread: a platform thread or, translated, a pico thread. */
	public static int run(Callable<Integer> work, int n) throws InterruptedException {
		int[] sum = new int[1];
		Throwable[] bad = new Throwable[1];
		Thread t = new Thread(() -> {
			try {
				for (int k = 0; k < n; k++)
					sum[0] += work.call();
			} catch (Throwable e) {
				bad[0] = e;
			}
		});
		t.start();
		t.join();
		if (bad[0] != null)
			throw new IllegalStateException(bad[0]);
		return sum[0];
	}
}
