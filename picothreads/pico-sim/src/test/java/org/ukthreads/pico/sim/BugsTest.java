// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.ukthreads.fixtures.sim.Bugs;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.rewrite.SchedulingPoints.Level;

/**
 * Each way of searching finds, replays and shrinks the classical bugs within 1,000 runs, the
 * number that Fray gives its own example. The mended programs do not fail.
 */
final class BugsTest {
	private static final int BUDGET = 1_000;

	private static PicoLoader sync;
	private static PicoLoader fields;

	private static synchronized PicoLoader loader(Level l) throws Exception {
		if (sync == null) {
			sync = Programs.load(Bugs.class, Level.SYNC, false);
			fields = Programs.load(Bugs.class, Level.FIELDS, false);
		}
		return l == Level.SYNC ? sync : fields;
	}

	private static Sim.Program program(String name, Level l, boolean mended) throws Exception {
		var c = loader(l).loadClass(Bugs.class.getName() + "$" + name)
			.getConstructor(boolean.class);
		return () -> (Runnable) c.newInstance(mended);
	}

	/** How many orderings a bug needs, if these are not two. */
	private static final Map<String, Integer> DEPTHS = Map.of("Philosophers", 4, "Dekker", 3);

	private static void found(String name, Level level) throws Exception {
		Sim.Program bad = program(name, level, false);
		for (Sim s : List.of(new Sim(), new Sim().uniform(),
				new Sim().pct(DEPTHS.getOrDefault(name, 2)))) {
			Sim.Outcome o = s.check(1, BUDGET, bad);
			assertFalse(o.ok(), () -> name + ": no seed fails; " + s.coverage());
			String token = o.token();
			for (int k = 0; k < 2; k++)
				same(o, s.replay(token, bad.fresh()));
			Sim.Outcome less = s.shrink(o, 2_000, bad);
			assertFalse(less.ok());
			assertTrue(less.schedule.length() <= o.schedule.length());
			assertEquals(o.failure.getClass(), less.failure.getClass());
			Sim.Outcome again = new Sim().replay(less.token(), bad.fresh());
			same(less, again);
			System.out.printf("%-14s seed %4s of %-9s %3d turns -> %d, %d preemptions%s %s%n",
				name, token, o.toString().replaceAll("(?s).*\\((.*)\\)$", "$1"),
				o.schedule.length(), less.schedule.length(), less.preemptions,
				less.shortest ? " (proven)" : "", less.token());
		}
		Sim good = new Sim();
		Sim.Outcome o = good.check(1, 200, program(name, level, true));
		assertTrue(o.ok(), () -> name + " mended: " + o);
		assertTrue(good.coverage().distinct() > 1, good.coverage().toString());
	}

	private static void same(Sim.Outcome a, Sim.Outcome b) {
		assertFalse(b.ok(), "does not fail again: " + a.token());
		assertEquals(a.trace, b.trace);
		assertEquals(a.failure.getClass(), b.failure.getClass());
		assertEquals(a.schedule.toString(), b.schedule.toString());
	}

	@ParameterizedTest
	@ValueSource(strings = {"TwoLocks", "Friends", "Upgrade", "Permits", "Missed", "IfForWhile",
		"EvenOdd", "Parked", "Lost", "CheckThenAct", "Account", "Append", "Walk", "Iterate",
		"WrongLock", "Reorder", "TwoStages", "Escapes", "DoubleCheck", "Driver", "Aba",
		"Stealing", "Dekker"})
	void bugs_of_synchronisation_are_found(String name) throws Exception {
		found(name, Level.SYNC);
	}

	/** Takes as many runs and turns as all the others together. */
	@ParameterizedTest
	@Tag("long")
	@ValueSource(strings = {"Philosophers", "WrongWaiter", "Token"})
	@Tag("1/3")
	void so_are_those_with_many_turns(String name) throws Exception {
		found(name, Level.SYNC);
	}

	@ParameterizedTest
	@ValueSource(strings = {"Plain", "Lazy", "Ring"})
	void data_races_are_found_with_points_at_fields(String name) throws Exception {
		Sim s = new Sim();
		Sim.Outcome o = s.check(1, 50, program(name, Level.SYNC, false));
		assertTrue(o.ok(), "found without points at fields: the test shows nothing");
		found(name, Level.FIELDS);
	}

	@Test
	void who_spins_lets_the_others_go_on() throws Exception {
		for (Sim s : List.of(new Sim().uniform(), new Sim().pct(1), new Sim().pct(3))) {
			Sim.Outcome o = s.check(1, 20, program("Spin", Level.SYNC, false));
			assertTrue(o.ok(), o::toString);
		}
		Sim.Outcome o = new Sim().explore(1, 0, 100, program("Spin", Level.SYNC, false));
		assertNull(o);
	}

	@Test
	void a_sleep_is_no_order_when_the_clock_is_in_a_hurry() throws Exception {
		Sim.Program p = program("Sleeps", Level.SYNC, false);
		assertTrue(new Sim().check(1, 100, p).ok());
		Sim s = new Sim().hurry(10);
		Sim.Outcome o = s.check(1, BUDGET, p);
		assertFalse(o.ok());
		same(o, s.replay(o.token(), p.fresh()));
		assertTrue(o.schedule.toString().contains(":t"), o.schedule.toString());
		assertTrue(new Sim().hurry(10).check(1, 200, program("Sleeps", Level.SYNC, true)).ok());
	}

	@Test
	@Tag("long")
	@Tag("2/3")
	void all_schedules_with_few_preemptions_can_be_tried() throws Exception {
		Sim s = new Sim();
		assertNull(s.explore(1, 0, 1_000, program("TwoLocks", Level.SYNC, false)));
		assertTrue(s.complete(), "not all schedules without preemptions were tried");
		Sim.Outcome o = s.explore(1, 1, 1_000, program("TwoLocks", Level.SYNC, false));
		assertNotNull(o);
		assertEquals(1, o.preemptions);
		assertTrue(o.failure instanceof Sim.DeadlockException, o.toString());
		assertNull(s.explore(1, 2, 20_000, program("TwoLocks", Level.SYNC, true)));
		assertTrue(s.complete(), () -> s.coverage().toString());
		assertEquals(s.coverage().runs(), s.coverage().distinct(), "a schedule was tried twice");
	}

	@Test
	void what_was_covered_is_told() throws Exception {
		Sim s = new Sim().pct(2);
		s.check(1, 200, program("TwoLocks", Level.SYNC, true));
		Coverage c = s.coverage();
		assertEquals(200, c.runs());
		assertEquals(3, c.threads());
		assertTrue(c.distinct() > 10 && c.distinct() <= 200, c.toString());
		/* Each run finds it with at least 1 / (n k). A few runs may be longer than PCT assumed. */
		double p = 1 / (3.0 * (c.decisions() + c.decisions() / 4 + 1));
		assertTrue(c.met(2) > 1 - Math.pow(1 - p, 190) && c.met(2) < 1, c.toString());
		assertEquals(0, c.met(3));
		assertTrue(c.toString().contains("a bug of depth 2 met with p >= 0."), c.toString());
	}

	@Test
	void a_shrunk_schedule_tells_its_story() throws Exception {
		Sim s = new Sim();
		Sim.Program p = program("TwoLocks", Level.SYNC, false);
		Sim.Outcome o = s.shrink(s.check(1, BUDGET, p), 2_000, p);
		assertEquals(1, o.preemptions);
		assertTrue(o.shortest);
		assertEquals(o.schedule.length(), o.story.size());
		assertTrue(o.told().contains("Bugs$TwoLocks.both"), o.told());
	}

	@Test
	void a_schedule_is_read_as_it_was_written() {
		String t = "0.3:2+2.1:t+17.400:0";
		assertEquals(t, Schedule.parse(t).toString());
		assertEquals("", Schedule.parse("").toString());
		org.junit.jupiter.api.Assertions.assertThrows(IllegalArgumentException.class,
			() -> Schedule.parse("3:2"));
	}
}
