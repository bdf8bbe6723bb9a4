package org.ukthreads.pico.durable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.durable.Moves;

/** From each JDK that is found to each other one; the first process is killed asleep. */
final class MovesTest {
	@TempDir
	Path dir;

	/** And in a build whose methods suspend the other way: by returns, by throws. */
	@Test
	void resumes_on_another_jdk() throws Exception {
		Path in = Children.copy(dir.resolve("in"), Moves.class);
		Path[] builds = {Children.translated(in, dir.resolve("returns"), "all"),
			Children.translated(in, dir.resolve("throws"), "none")};
		List<Path> homes = Children.homes();
		if (homes.isEmpty())
			homes = List.of(Children.home());
		String whole = null;
		int n = 0;
		for (Path from : homes)
			for (Path to : homes) {
				if (homes.size() > 1 && from.equals(to))
					continue;
				Path work = Files.createDirectories(dir.resolve("work" + n++));
				Path out = work.resolve("out");
				Process p = Children.run(from, builds[n % 2], out, Moves.class.getName(),
					work.toString());
				Path record = work.resolve("store").resolve("t%2Ftrip.pico");
				long end = System.nanoTime() + 30_000_000_000L;
				while (!(Files.exists(out) && Files.readString(out).contains("before"))
						&& System.nanoTime() < end)
					Thread.sleep(5);
				Thread.sleep(500);
				p.destroyForcibly().waitFor();
				assertTrue(Files.exists(record), () -> "nothing stored");
				Path out2 = work.resolve("out2");
				p = Children.run(to, builds[(n + 1) % 2], out2, Moves.class.getName(), work.toString());
				assertTrue(p.waitFor(60, TimeUnit.SECONDS));
				assertEquals("before\n", Files.readString(out));
				String s = Files.readString(out2);
				assertEquals("after\ndepth 11 true-58364-3001.53.141592653589793"
					+ "-9223372036854775808 truetruetruetruetrue212.502024-02-29"
					+ "3truetrue7true\n", s);
				assertTrue(whole == null || whole.equals(s));
				whole = s;
				System.out.println(from.getFileName() + " -> " + to.getFileName() + ": ok, "
					+ n);
			}
	}
}
