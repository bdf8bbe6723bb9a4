// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Kills a process with kill -9 at random moments. No committed step may be lost or made twice, and
 * all threads must come to the right end. -Dpico.kills=N sets the number of rounds.
 */
final class KilledTest {
	@TempDir
	Path dir;

	@Test
	void no_committed_step_is_lost() throws Exception {
		Kills k = new Kills(dir, System.nanoTime(), false, null);
		int rounds = Integer.getInteger("pico.kills", 8);
		for (int n = 0; n < rounds; n++)
			k.round();
		assertTrue(k.steps > 0);
		System.out.println(rounds + " kills (seed " + k.seed + "), " + k.steps
			+ " committed steps, none lost");
	}

	@Test
	void all_end_well() throws Exception {
		Kills k = new Kills(dir, 1, false, null);
		Process p = k.start(40);
		Thread.sleep(400);
		p.destroyForcibly().waitFor();
		p = k.start(40);
		assertTrue(p.waitFor(600, TimeUnit.SECONDS));
		String printed = Files.readString(k.out);
		assertEquals(0, p.exitValue(), printed);
		Map<String, Long> sums = k.check();
		String log = Files.readString(k.log);
		for (int n = 0; n < Kills.THREADS; n++)
			assertTrue(log.contains("end w" + n + " 40 " + sums.get("w" + n)), log);
		try (FileStore s = new FileStore(dir.resolve("work/store"))) {
			assertEquals(Kills.THREADS, s.keys().size());
			assertTrue(s.keys().stream().allMatch(e -> e.startsWith(Vault.ENDED)));
		}
	}
}
