// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The folder in which threads are kept. */
final class FileStoreTest {
	@TempDir
	Path dir;

	private static Store.Change put(String key, int... b) {
		byte[] v = new byte[b.length];
		for (int k = 0; k < b.length; k++)
			v[k] = (byte) b[k];
		return new Store.Change(key, v);
	}

	/** Opens the folder in another process. */
	static final class Other {
		public static void main(String[] args) {
			try {
				new FileStore(Paths.get(args[0]));
			} catch (IOException e) {
				System.exit(3);
			}
			System.exit(4);
		}
	}

	/** On Linux a process that closes any descriptor of the lock's file loses the lock. */
	@Test
	void who_opens_it_twice_does_not_let_another_process_in() throws Exception {
		try (FileStore s = new FileStore(dir)) {
			assertThrows(IOException.class, () -> new FileStore(dir));
			assertThrows(IOException.class,
				() -> new FileStore(dir.resolve("../" + dir.getFileName())));
			Process p = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-cp",
				System.getProperty("java.class.path"), Other.class.getName(),
				dir.toString()).inheritIO().start();
			assertEquals(3, p.waitFor());
		}
		new FileStore(dir).close();
	}

	@Test
	void what_could_not_be_written_takes_no_room() throws Exception {
		try (FileStore s = new FileStore(dir)) {
			s.apply(List.of(put("a", 1)));
			/* This makes the third write fail. */
			Files.createDirectories(dir.resolve("new.2/x"));
			assertThrows(IOException.class,
				() -> s.apply(List.of(put("a", 2), put("b", 3), put("c", 4))));
			assertArrayEquals(new byte[] {1}, s.get("a"));
			assertEquals(List.of("a"), s.keys());
			Files.delete(dir.resolve("new.2/x"));
			Files.delete(dir.resolve("new.2"));
			try (var l = Files.list(dir)) {
				assertEquals(2, l.count(), "the lock and a");
			}
		}
		Files.write(dir.resolve("new.7"), new byte[9]);
		new FileStore(dir).close();
		assertEquals(false, Files.exists(dir.resolve("new.7")));
	}

	@Test
	void files_of_others_are_left_alone() throws Exception {
		try (FileStore s = new FileStore(dir)) {
			s.apply(List.of(put("t/a b", 1)));
			for (String n : List.of("%zz.pico", "t%2Fa+b copy.pico", "t%2fa+b.pico"))
				Files.write(dir.resolve(n), new byte[1]);
			assertEquals(List.of("t/a b"), s.keys());
		}
	}

	@Test
	void it_may_be_closed_twice() throws Exception {
		FileStore s = new FileStore(dir);
		try (FileStore t = s; Vault v = new Vault(s, new Seal(new byte[16]),
				new Codec(null, Filter.PROGRAM))) {
			assertEquals(List.of(), v.running());
		}
	}
}
