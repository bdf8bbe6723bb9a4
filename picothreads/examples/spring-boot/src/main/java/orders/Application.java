// SPDX-License-Identifier: Apache-2.0
package orders;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.ukthreads.pico.durable.Vault;

/** Orders over HTTP. Each is one durable thread (Order), which waits for its payment. */
@SpringBootApplication
@RestController
public class Application {
	private final Vault vault;
	private final JdbcTemplate db;

	public Application(Vault vault, JdbcTemplate db) {
		this.vault = vault;
		this.db = db;
		db.execute("create table if not exists booked (id varchar, what varchar)");
	}

	public static void main(String[] args) {
		SpringApplication.run(Application.class, args);
		System.out.println("ready");
	}

	/** The same order again is refused, also when the first has ended. */
	@PostMapping("/orders/{id}")
	public String order(@PathVariable("id") String id, @RequestParam("item") String[] items)
			throws Exception {
		vault.start(id, new Order(items));
		return "started\n";
	}

	@PostMapping("/orders/{id}/paid")
	public String paid(@PathVariable("id") String id, @RequestParam("sum") String sum)
			throws Exception {
		vault.send(id, sum);
		return "sent\n";
	}

	@GetMapping("/orders/{id}")
	public String look(@PathVariable("id") String id) {
		return String.join("\n", db.queryForList(
			"select what from booked where id = ?", String.class, id)) + "\n";
	}
}
