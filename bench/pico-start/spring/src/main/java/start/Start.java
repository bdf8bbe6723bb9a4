// SPDX-License-Identifier: Apache-2.0
package start;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;

/** Starts, queries its database once, and ends. */
@SpringBootApplication
public class Start {
	public static void main(String[] args) {
		try (ConfigurableApplicationContext c = SpringApplication.run(Start.class, args)) {
			System.out.println("answer " + c.getBean(JdbcTemplate.class)
				.queryForObject("select 6 * 7", Integer.class));
		}
	}
}
