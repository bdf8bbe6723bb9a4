// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.durable.Codec;
import org.ukthreads.pico.durable.FileStore;
import org.ukthreads.pico.durable.Filter;
import org.ukthreads.pico.durable.Seal;
import org.ukthreads.pico.durable.Vault;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/** The command pico durable, in separate processes. */
final class DurableCommandTest {
	@TempDir
	Path dir;

	private static final String SOURCE = "import org.ukthreads.pico.durable.Durable;"
		+ "public class Flow implements Runnable, java.io.Serializable {"
		+ "private static final long serialVersionUID = 1; private int n;"
		+ "public void run() { Durable.expose(\"a flow\"); wait4(); step(); }"
		+ "void wait4() { n += 1; Durable.receive(); }"
		+ "void step() { Durable.commit(); } }";

	private Path compile(String name, String source) throws Exception {
		Path d = Files.createDirectories(dir.resolve(name));
		Path f = Files.writeString(d.resolve("Flow.java"), source);
		assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, null, null, "-nowarn",
			"-cp", System.getProperty("java.class.path"), "-d", d.toString(), f.toString()));
		return d;
	}

	private String pico(int code, String... args) throws Exception {
		List<String> c = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"),
			"bin/java").toString(), "-Xmx300m", "-XX:TieredStopAtLevel=1", "-cp",
			System.getProperty("java.class.path"), Main.class.getName(), "durable"));
		c.addAll(List.of(args));
		File out = dir.resolve("printed").toFile();
		int rc = new ProcessBuilder(c).redirectErrorStream(true).redirectOutput(out).start()
			.waitFor();
		String s = Files.readString(out.toPath());
		assertEquals(code, rc, s);
		return s;
	}

	@Test
	void it_lists_shows_checks_and_cancels() throws Exception {
		Path one = compile("one", SOURCE);
		ClassPath program = new ClassPath(List.of(one));
		PicoLoader l = new PicoLoader(Translator.of(program, Main.libraries(List.of()),
			new Translator.Options()).run(), program, Main.class.getClassLoader());
		String store = dir.resolve("store").toString();
		String key = dir.resolve("key").toString();
		Vault v = new Vault(new FileStore(Path.of(store)), Seal.file(Path.of(key)),
			new Codec(l, Filter.PROGRAM));
		v.start("order-1", (Runnable) l.loadClass("Flow").getConstructor().newInstance());
		long end = System.nanoTime() + 60_000_000_000L;
		while (!v.look("order-1").waits.equals("receive")) {
			assertTrue(System.nanoTime() < end);
			Thread.sleep(5);
		}
		v.start("order-0", (Runnable) l.loadClass("Flow").getConstructor().newInstance());
		v.send("order-0", "go");
		assertTrue(v.await("order-0", 60_000));
		/* This is while the vault is open. */
		String ls = pico(0, "ls", store);
		assertTrue(ls.matches("(?s)id .*order-1 +\\S+ +receive +- .*"), ls);
		assertTrue(pico(2, "cancel", store, "order-1", "--key", key).contains("in use"));
		v.close();
		String show = pico(0, "show", store, "order-1", "--key", key, "-cp", one.toString());
		assertTrue(show.contains("exposes   a flow") && show.contains("at Flow.wait4")
			&& show.contains("at Flow.run"), show);
		assertTrue(pico(2, "show", store, "none").contains("there is no thread none"));
		assertTrue(pico(0, "show", store, "order-0", "--key", key, "-cp", one.toString())
			.matches("(?s)id +order-0\nstate +ended\nended +\\d{4}-\\S+Z\nsteps +3\n.*"));
		assertTrue(pico(2, "cancel", store, "order-0", "--key", key).contains("order-0 has ended"));

		Path same = compile("same", SOURCE.replace("commit(); }", "commit(); n = 7; }"));
		assertTrue(pico(0, "check", one.toString(), same.toString(), store)
			.contains("1 threads: 1 continue, 0 would be refused"));
		Path two = compile("two", SOURCE.replace("n += 1", "n += 2"));
		String check = pico(1, "check", one.toString(), two.toString(), store, "--key", key);
		assertTrue(check.contains("order-1: Flow.wait4()V: its code has changed")
			&& check.contains("1 would be refused"), check);

		pico(0, "cancel", store, "order-1", "--key", key);
		ls = pico(0, "ls", store);
		assertTrue(ls.matches("(?s).*order-1 +due +receive +- +\\d+ +1 .*"), ls);
		assertTrue(pico(2, "cancel", store, "order-1").contains("--key FILE"));
		poisoned(store, key);
		strangers(store, key);
	}

	/** A message that no key opens is reported, and `drop` deletes it. */
	private void poisoned(String store, String key) throws Exception {
		Path message = Files.write(Path.of(store, "m%2Forder-1%2F2.pico"), new byte[99]);
		String why = "m/order-1/2: the signature is wrong";
		assertTrue(pico(0, "show", store, "order-1", "--key", key).contains("refused   " + why));
		String resume = pico(2, "resume", store, "order-1", "--key", key);
		assertTrue(resume.contains(why) && resume.contains("pico durable drop"), resume);
		assertTrue(pico(0, "drop", store, "order-1", "--key", key).contains("deleted: 1"));
		assertFalse(Files.exists(message));
		pico(0, "resume", store, "order-1", "--key", key);
		assertTrue(pico(0, "ls", store).matches("(?s).*order-1 +due +receive +- +\\d+ +1 .*"));
	}

	/** A folder, key or record that does not fit is reported, and nothing is changed. */
	private void strangers(String store, String key) throws Exception {
		assertTrue(pico(2, "ls", key).contains("not a folder: "));
		String empty = Files.createDirectories(dir.resolve("empty")).toString();
		assertTrue(pico(2, "ls", empty).contains("not a store of durable threads: "));
		assertTrue(pico(2, "cancel", empty, "order-1", "--key", key).contains("not a store of"));
		assertEquals(0, dir.resolve("empty").toFile().list().length);
		assertTrue(pico(2, "ls", store, "--key", store).contains("not a key file: "));

		String other = Files.write(dir.resolve("other"), new byte[32]).toString();
		assertTrue(pico(0, "ls", store, "--key", other).contains(" refused: t/order-1: the"
			+ " signature is wrong: it names the key "));
		assertTrue(pico(0, "show", store, "order-1", "--key", other)
			.contains("refused   t/order-1: the signature is wrong"));
		int files = new File(store).list().length;
		assertTrue(pico(2, "cancel", store, "order-1", "--key", other)
			.contains("the signature is wrong"));
		assertEquals(files, new File(store).list().length);

		Path record = Path.of(store, "t%2Forder-1.pico");
		byte[] b = Files.readAllBytes(record);
		Files.write(record, Arrays.copyOf(b, 10));
		assertTrue(pico(0, "ls", store).contains(" refused: the snapshot is cut short"));
		b[0]++;
		Files.write(record, b);
		assertTrue(pico(0, "show", store, "order-1").contains("refused   a record of version"));
		assertTrue(pico(2, "resume", store, "order-1", "--key", key)
			.contains("a record of version"));
	}
}
