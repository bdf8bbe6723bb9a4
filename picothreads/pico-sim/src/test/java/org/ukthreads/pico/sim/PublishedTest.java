// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ConcurrentModificationException;
import java.util.List;
import org.apache.commons.dbcp.datasources.SharedPoolDataSource;
import org.apache.commons.pool.impl.GenericObjectPool;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.rewrite.SchedulingPoints.Level;
import org.ukthreads.published.Jacontebe;

/** Finds bugs that people met in libraries, in the jars of these libraries, within 1,000 runs. */
@Tag("long")
final class PublishedTest {
	private static final int BUDGET = 1_000;

	/**
	 * Makes new classes for each run, as `pico sim` does, because libraries keep state in static
	 * fields.
	 */
	private static Sim.Program program(PicoLoader l, Class<?> of, boolean careful) {
		return () -> (Runnable) l.again().loadClass(of.getName()).getConstructor(boolean.class)
			.newInstance(careful);
	}

	private static void found(Class<?> of, Level level, Class<?> failure) throws Exception {
		PicoLoader l = Programs.load(of, level, false, "published",
			List.of(GenericObjectPool.class, SharedPoolDataSource.class));
		Sim.Program bad = program(l, of, false);
		for (Sim s : List.of(new Sim(), new Sim().uniform(), new Sim().pct(2))) {
			Sim.Outcome o = s.check(1, BUDGET, bad);
			assertFalse(o.ok(), () -> "no seed fails; " + s.coverage());
			assertInstanceOf(failure, o.failure, o.told());
			System.out.println(of.getSimpleName() + ": " + o + ", " + s.coverage());
			for (int k = 0; k < 2; k++) {
				Sim.Outcome again = s.replay(o.token(), bad.fresh());
				assertInstanceOf(failure, again.failure);
				assertEquals(o.trace, again.trace);
				assertEquals(o.schedule.toString(), again.schedule.toString());
			}
			Sim.Outcome less = s.shrink(o, 2_000, bad);
			assertInstanceOf(failure, new Sim().replay(less.token(), bad.fresh()).failure);
		}
		Sim.Outcome o = new Sim().check(1, 200, program(l, of, true));
		assertTrue(o.ok(), () -> "careful: " + o);
	}

	@Test
	@Tag("1/2")
	void who_was_interrupted_is_given_the_object_of_a_pool() throws Exception {
		found(Jacontebe.Pool162.class, Level.SYNC, Sim.DeadlockException.class);
	}

	@Test
	@Tag("2/2")
	void a_data_source_is_closed_while_another_is_opened() throws Exception {
		found(Jacontebe.Dbcp369.class, Level.FIELDS, ConcurrentModificationException.class);
	}
}
