// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.ukthreads.fixtures.sim.Races;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.rewrite.SchedulingPoints;

final class SimTest {
	private static PicoLoader load(boolean chaos) throws Exception {
		return Programs.load(Races.class, SchedulingPoints.Level.NONE, chaos);
	}

	private static Supplier<Runnable> program(String name, boolean chaos, Object... args)
			throws Exception {
		var c = load(chaos).loadClass(Races.class.getName() + "$" + name)
			.getConstructors()[0];
		return () -> {
			try {
				return (Runnable) c.newInstance(args);
			} catch (ReflectiveOperationException e) {
				throw new IllegalStateException(e);
			}
		};
	}

	private static Sim.Outcome search(Sim s, int n, Supplier<Runnable> p) {
		Sim.Outcome o = null;
		for (int seed = 1; seed <= n; seed++) {
			o = s.run(seed, p.get());
			if (!o.ok())
				return o;
		}
		return o;
	}

	private static void replays(Sim s, Sim.Outcome o, Supplier<Runnable> p) {
		assertFalse(o.ok(), "no seed fails");
		System.out.println(o.toString().lines().findFirst().get());
		for (int k = 0; k < 5; k++) {
			Sim.Outcome again = s.run(o.seed, p.get());
			assertEquals(o.trace, again.trace);
			assertEquals(o.steps, again.steps);
			assertEquals(o.nanos, again.nanos);
			assertEquals(o.failure.getClass(), again.failure.getClass());
			if (!(o.failure instanceof Sim.DeadlockException))
				assertEquals(o.failure.getMessage(), again.failure.getMessage());
		}
	}

	@Test
	void time_outs_of_futures_are_virtual() throws Exception {
		Sim s = new Sim();
		Supplier<Runnable> p = program("Days", false);
		Sim.Outcome o = s.run(1, p.get());
		assertEquals("lateTimeoutException after 3 days", o.failure.getMessage());
		replays(s, o, p);
	}

	@Test
	void a_race_is_found_by_a_seed_and_replayed() throws Exception {
		Sim s = new Sim();
		Supplier<Runnable> p = program("Bank", false, false);
		Sim.Outcome o = search(s, 2_000, p);
		replays(s, o, p);
		assertTrue(o.failure.getMessage().startsWith("balance -"));
		assertTrue(o.seed > 1, "the first seed fails already, so nothing was searched");
		assertTrue(search(s, 2_000, program("Bank", false, true)).ok());
	}

	@Test
	void a_race_between_two_instructions_needs_chaos() throws Exception {
		Supplier<Runnable> p = program("Counter", true);
		assertTrue(search(new Sim(), 200, p).ok());
		Sim s = new Sim().preempt(100);
		Sim.Outcome o = search(s, 2_000, p);
		replays(s, o, p);
	}

	@Test
	void a_deadlock_is_found_and_told() throws Exception {
		Sim s = new Sim();
		Supplier<Runnable> p = program("Forks", false);
		Sim.Outcome o = search(s, 2_000, p);
		replays(s, o, p);
		assertTrue(o.failure instanceof Sim.DeadlockException, o.toString());
		assertTrue(o.failure.getMessage().contains("Races$Forks.eat"),
			o.failure.getMessage());
	}

	@Test
	@Tag("long")
	void a_year_takes_no_time() throws Exception {
		Sim.Outcome o = new Sim().run(7, program("Year", false).get());
		assertTrue(o.ok(), o.toString());
		assertEquals(365 * 86_400L * 1_000_000_000, o.nanos);
	}

	@Test
	void seeds_differ() throws Exception {
		Supplier<Runnable> p = program("Bank", false, true);
		Set<Long> traces = new HashSet<>();
		for (int seed = 0; seed < 50; seed++)
			traces.add(new Sim().run(seed, p.get()).trace);
		assertTrue(traces.size() > 40, "" + traces.size());
		assertNotEquals(0, traces.size());
	}

	@Test
	void an_endless_program_is_stopped() throws Exception {
		Sim.Outcome o = new Sim().maxSteps(100).run(1, program("Year", false).get());
		assertTrue(o.failure instanceof Sim.LimitException);
	}

	@Test
	void chance_and_time_are_the_seed_s() throws Exception {
		Class<?> c = load(false).loadClass(Races.class.getName() + "$Draws");
		Set<Object> seen = new HashSet<>();
		for (int k = 0; k < 4; k++) {
			Sim.Outcome o = new Sim().run(k & 1,
				(Runnable) c.getConstructor().newInstance());
			assertTrue(o.ok(), () -> o + " " + Arrays.toString(o.failure.getStackTrace()));
			seen.add(c.getField("seen").get(null));
		}
		assertEquals(2, seen.size());
	}

	@Test
	void to_sleep_for_ever_is_a_deadlock() throws Exception {
		Sim.Outcome o = new Sim().maxSteps(1_000).run(1, program("Patient", false).get());
		assertTrue(o.failure instanceof Sim.DeadlockException, o.toString());
		assertEquals(0, o.nanos);
	}

	@Test
	void who_waits_for_a_process_is_not_in_a_deadlock() throws Exception {
		Sim.Outcome o = new Sim().run(1, program("Outside", false).get());
		assertTrue(o.ok(), o.toString());
	}
}
