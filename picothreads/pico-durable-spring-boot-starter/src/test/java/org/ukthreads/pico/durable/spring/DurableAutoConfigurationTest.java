// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.stereotype.Service;
import org.ukthreads.fixtures.spring.Sale;
import org.ukthreads.pico.durable.Vault;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/** An application ends while one of its threads waits, and the next one continues that thread. */
final class DurableAutoConfigurationTest {
	@TempDir
	Path dir;
	private ClassLoader loader;

	/** A component that the thread refers to. */
	@Service
	public static class Shop implements Consumer<String> {
		final List<String> sold = Collections.synchronizedList(new ArrayList<>());

		@Override
		public void accept(String what) {
			sold.add(what);
		}
	}

	@BeforeEach
	void translate() throws Exception {
		Path classes = Paths.get(DurableAutoConfigurationTest.class.getProtectionDomain()
			.getCodeSource().getLocation().toURI());
		String name = Sale.class.getName().replace('.', '/') + ".class";
		Path copy = dir.resolve("in").resolve(name);
		Files.createDirectories(copy.getParent());
		Files.copy(classes.resolve(name), copy);
		List<Path> pico = Arrays.stream(System.getProperty("java.class.path")
			.split(File.pathSeparator)).filter(p -> p.contains("pico-")
				&& !p.contains("test-classes") && !p.contains("pico-translate"))
			.map(Paths::get).collect(Collectors.toList());
		loader = new PicoLoader(Translator.of(new ClassPath(List.of(dir.resolve("in"))),
			new ClassPath(pico), new Translator.Options()).run(), new ClassPath(List.of()),
			DurableAutoConfigurationTest.class.getClassLoader());
	}

	private ApplicationContextRunner application() {
		return new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(DurableAutoConfiguration.class))
			.withClassLoader(loader)
			.withPropertyValues("pico.durable.key=" + dir.resolve("key"));
	}

	private static void until(java.util.function.BooleanSupplier b) throws Exception {
		for (long end = System.nanoTime() + 60_000_000_000L; !b.getAsBoolean();) {
			assertTrue(System.nanoTime() < end, "not in time");
			Thread.sleep(5);
		}
	}

	private void twice(ApplicationContextRunner a) {
		a.withBean("shop", Shop.class).run(c -> {
			Vault v = c.getBean(Vault.class);
			Shop s = c.getBean(Shop.class);
			v.start("sale", (Runnable) loader.loadClass(Sale.class.getName())
				.getConstructors()[0].newInstance(s));
			until(() -> s.sold.size() == 1);
			until(() -> waits(v).equals("receive"));
		});
		a.withBean("shop", Shop.class).run(c -> {
			Vault v = c.getBean(Vault.class);
			v.send("sale", "second");
			assertTrue(v.awaitAll(60_000));
			assertEquals(List.of("second"), c.getBean(Shop.class).sold);
		});
	}

	private static String waits(Vault v) {
		try {
			return v.look("sale").waits;
		} catch (java.io.IOException e) {
			return "" + e;
		}
	}

	@Test
	void on_a_data_source() {
		JdbcDataSource d = new JdbcDataSource();
		d.setURL("jdbc:h2:mem:spring;DB_CLOSE_DELAY=-1");
		twice(application().withBean("db", DataSource.class, () -> d));
	}

	@Test
	void in_a_folder() {
		twice(application().withPropertyValues("pico.durable.folder=" + dir.resolve("store")));
	}

	@Test
	void nowhere_is_said() {
		application().run(c -> assertTrue(assertNotNullFailure(c.getStartupFailure())
			.contains("pico.durable.folder")));
	}

	private static String assertNotNullFailure(Throwable e) {
		assertNotNull(e);
		while (e.getCause() != null)
			e = e.getCause();
		return e.getMessage();
	}
}
