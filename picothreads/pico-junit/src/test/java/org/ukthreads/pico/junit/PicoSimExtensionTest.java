// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;
import org.ukthreads.pico.sim.Coverage;
import org.ukthreads.pico.sim.Sim;

/**
 * A failing test reports the failure and how to repeat it. The tests that pass are in
 * SimulatedTest.
 */
final class PicoSimExtensionTest {
	private static Coverage run(String test, Class<?>... parameters) throws Exception {
		Class<?> c = Class.forName("org.ukthreads.fixtures.junit.SimulatedTest$Locks");
		Method m = c.getDeclaredMethod(test, parameters);
		return PicoSimExtension.simulate(c, m, m.getAnnotation(PicoSim.class));
	}

	@Test
	void an_assumption_that_does_not_hold_is_no_failure() {
		TestAbortedException e = assertThrows(TestAbortedException.class,
			() -> run("assumes_what_is_not_so"));
		assertTrue(e.getMessage().contains("not here"), e.toString());
	}

	@Test
	void what_cannot_be_run_is_told() {
		assertTrue(assertThrows(NoSuchMethodException.class, () -> run("has_a", String.class))
			.getMessage().contains("must have no parameters"));
		assertTrue(assertThrows(IllegalArgumentException.class, () -> run("replays_nonsense"))
			.getMessage().contains("\"nonsense\""));
	}

	/** Its threads are the JVM's. While they work, there is no deadlock. */
	@Test
	void a_parallel_stream_is_no_dead_lock() throws Exception {
		assertEquals(20, run("is_parallel").runs());
	}

	@Test
	void a_loop_without_an_end_is_found_and_named() {
		SimFailure f = assertThrows(SimFailure.class, () -> run("does_not_come_back"));
		System.setProperty("enough", "1");
		assertTrue(f.getCause() instanceof Sim.StuckException, f.toString());
		assertTrue(f.getMessage().contains("no step for 3 s")
			&& f.getMessage().contains("again: @PicoSim(replay = \"1\")"), f.getMessage());
		assertTrue(Arrays.stream(f.getCause().getStackTrace()).anyMatch(
			e -> e.getMethodName().equals("does_not_come_back")), f.getCause()::toString);
	}

	@Test
	void a_dead_lock_fails_the_test_and_is_shrunk() throws Exception {
		SimFailure f = assertThrows(SimFailure.class, () -> run("in_two_orders"));
		assertTrue(f.getCause() instanceof Sim.DeadlockException, f.toString());
		assertEquals(1, f.outcome().preemptions);
		assertTrue(f.getMessage().contains("again: @PicoSim(replay = \""
			+ f.outcome().token() + "\")"), f.getMessage());
		assertTrue(f.getMessage().contains("SimulatedTest$Locks.both"), f.getMessage());
	}
}
