// SPDX-License-Identifier: Apache-2.0
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.Serializable;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.Executors;
import org.ukthreads.pico.durable.CancelledException;
import org.ukthreads.pico.durable.Codec;
import org.ukthreads.pico.durable.Durable;
import org.ukthreads.pico.durable.DurableException;
import org.ukthreads.pico.durable.Filter;
import org.ukthreads.pico.durable.JdbcStore;
import org.ukthreads.pico.durable.Page;
import org.ukthreads.pico.durable.Seal;
import org.ukthreads.pico.durable.Vault;

/*
 * An order service with several workers on one database. An order is one method in blocking
 * Java: it waits for the money, books it, reserves each item with retries, and ships. It can be
 * cancelled, which is booked, too. Kill any worker at any moment: after the lease another
 * worker continues its orders in the line where they were, and no row of `booked` is written
 * twice.
 *
 *   run.sh                 runs PostgreSQL, two workers, orders and a kill -9, and checks the rows
 *
 *   POST   /orders/ID      starts an order; the body has the items, separated by blanks
 *   POST   /orders/ID/pay  pays for it; the body has the amount
 *   GET    /orders/ID      returns its state
 *   DELETE /orders/ID      cancels it
 *   The page and /metrics are on port + 1.
 *
 * Arguments: the port, the JDBC URL, the key file, the name of the worker.
 */
public final class OrderService {
	static final class Order implements Runnable, Serializable {
		private static final long serialVersionUID = 1;
		private final String[] items;
		private String state = "waits for the money";

		Order(String[] items) {
			this.items = items;
		}

		String state() {
			return state;
		}

		@Override
		public void run() {
			Durable.expose(this);
			try {
				Object money = Durable.receive(Duration.ofDays(14));
				if (money == null) {
					state = "never paid";
					return;
				}
				book("paid", "" + money);
				for (String item : items)
					reserve(item);
				state = "shipped";
				book("shipped", String.join(" ", items));
			} catch (CancelledException | InterruptedException e) {
				state = "cancelled";
				book("cancelled", "");
			}
		}

		/** Retries a supplier that is sometimes down after 0.2, 0.4, 0.8... s. */
		private void reserve(String item) throws InterruptedException {
			for (int n = 0;; n++)
				try {
					state = "reserves " + item;
					supplier(item, n);
					book("reserved", item);
					return;
				} catch (IllegalStateException e) {
					Thread.sleep(200L << Math.min(n, 6));
				}
		}

		private static void supplier(String item, int attempt) {
			if ((item.hashCode() + attempt) % 3 != 0)
				throw new IllegalStateException("the supplier of " + item + " is down");
		}

		/**
		 * Adds a row in the transaction that stores this thread, so it is written once even if
		 * workers are killed.
		 */
		private static void book(String what, String detail) {
			String id = Durable.id();
			try {
				Durable.transaction(db -> {
					try (PreparedStatement s = db.prepareStatement(
							"insert into booked (id, what, detail) values (?, ?, ?)")) {
						s.setString(1, id);
						s.setString(2, what);
						s.setString(3, detail);
						return s.executeUpdate();
					}
				});
			} catch (SQLException e) {
				throw new IllegalStateException(e);
			}
		}
	}

	private static void answer(HttpExchange x, int status, String body) throws IOException {
		byte[] b = (body + "\n").getBytes(StandardCharsets.UTF_8);
		x.sendResponseHeaders(status, b.length);
		x.getResponseBody().write(b);
		x.close();
	}

	private static void handle(Vault v, HttpExchange x) throws IOException {
		String[] path = x.getRequestURI().getPath().split("/");
		String id = path.length > 2 ? path[2] : "";
		String body = new String(x.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
		try {
			String what = x.getRequestMethod() + (path.length > 3 ? " " + path[3] : "");
			switch (what) {
			case "POST":
				v.start(id, new Order(body.trim().split("\\s+")));
				answer(x, 201, "ordered");
				break;
			case "POST pay":
				v.send(id, body.trim());
				answer(x, 202, "thank you");
				break;
			case "GET":
				answer(x, 200, v.<Order, String>query(id, Order::state));
				break;
			case "DELETE":
				v.cancel(id);
				answer(x, 202, "cancelled");
				break;
			default:
				answer(x, 405, "no such call");
			}
		} catch (DurableException e) {
			answer(x, 409, e.getMessage());
		}
	}

	public static void main(String[] args) throws Exception {
		int port = Integer.parseInt(args[0]);
		Connection db = DriverManager.getConnection(args[1]);
		try (Statement s = db.createStatement()) {
			s.execute("create table if not exists booked (id varchar(50), what varchar(20),"
				+ " detail varchar(200))");
		} catch (SQLException e) {
			System.err.println("the other worker creates the table: " + e.getMessage());
		}
		Vault v = new Vault(new JdbcStore(db, "orders").lease(2_000), Seal.file(Path.of(args[2])),
			new Codec(OrderService.class.getClassLoader(), Filter.PROGRAM)).sleepsFrom(100)
			.passiveAfter(1_000);
		v.resume();
		InetAddress here = InetAddress.getLoopbackAddress();
		new Page(v, new InetSocketAddress(here, port + 1));
		HttpServer http = HttpServer.create(new InetSocketAddress(here, port), 16);
		http.setExecutor(Executors.newFixedThreadPool(4));
		http.createContext("/orders/", x -> handle(v, x));
		http.start();
		System.out.println(args[3] + " is up");
		Thread.currentThread().join();
	}
}
