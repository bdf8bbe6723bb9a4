// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.sim.Nodes;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.rewrite.SchedulingPoints.Level;

/** Nodes, their network and their disks, under one seed. */
final class ClusterTest {
	private static PicoLoader loader;

	private static synchronized PicoLoader loader() throws Exception {
		if (loader == null)
			loader = Programs.load(Nodes.class, Level.SYNC, false);
		return loader;
	}

	private static Sim sim() {
		return new Sim().loader(() -> loader().again());
	}

	private static Sim.Program program(String name, String... args) throws Exception {
		Class<?>[] types = new Class<?>[args.length];
		java.util.Arrays.fill(types, String.class);
		var c = loader().loadClass(Nodes.class.getName() + "$" + name).getConstructor(types);
		return () -> (Runnable) c.newInstance((Object[]) args);
	}

	private static void ok(Sim.Outcome o) {
		assertTrue(o.ok(), () -> {
			java.io.StringWriter w = new java.io.StringWriter();
			o.failure.printStackTrace(new java.io.PrintWriter(w));
			return o + "\n" + w;
		});
	}

	@Test
	void a_socket_is_one_of_the_simulation() throws Exception {
		Sim s = sim();
		ok(s.check(1, 50, program("Echo")));
		Set<Long> times = new HashSet<>();
		var took = loader().loadClass(Nodes.class.getName() + "$Echo").getField("took");
		for (int k = 0; k < 4; k++) {
			ok(s.run(k & 1, program("Echo").fresh()));
			times.add((Long) took.get(null));
		}
		assertEquals(2, times.size(), "delays follow the seed: " + times);
		for (long t : times)
			assertTrue(t > 1_000_000_000L && t < 1_100_000_000L, "" + t);
	}

	@Test
	void what_was_acknowledged_but_not_synced_is_lost_by_some_seed() throws Exception {
		Sim s = sim();
		Sim.Outcome o = s.check(1, 1_000, program("Durable", "lazy"));
		assertFalse(o.ok(), "no seed fails");
		assertTrue(o.failure.getMessage().contains("was acknowledged and is lost"), o.toString());
		Sim.Outcome again = sim().replay(o.token(), program("Durable", "lazy").fresh());
		assertEquals(o.trace, again.trace);
		assertEquals(o.failure.getMessage(), again.failure.getMessage());
		ok(sim().check(1, 200, program("Durable", "sync")));
	}

	@Test
	void partitions_loss_and_kills() throws Exception {
		ok(sim().check(1, 100, program("Parted")));
	}

	@Test
	void datagrams_are_lost_come_twice_and_overtake() throws Exception {
		ok(sim().check(1, 20, program("Packets")));
	}

	@Test
	void selectors_of_the_program_wait_for_the_network() throws Exception {
		ok(sim().check(1, 50, program("Selecting")));
	}

	@Test
	void files_are_those_of_the_node(@TempDir Path dir) throws Exception {
		Files.writeString(dir.resolve("real"), "real");
		ok(sim().check(1, 5, program("FilesOf", dir.toString())));
		assertEquals("real", Files.readString(dir.resolve("real")));
		assertEquals(1, dir.toFile().list().length, "something was written");
	}
}
