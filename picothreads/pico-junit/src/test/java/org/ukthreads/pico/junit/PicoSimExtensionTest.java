// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import org.junit.jupiter.api.Test;
import org.ukthreads.pico.sim.Sim;

/** A test that fails says so, and how to have it again. SimulatedTest has those that do not. */
final class PicoSimExtensionTest {
	@Test
	void a_dead_lock_fails_the_test_and_is_shrunk() throws Exception {
		Class<?> c = Class.forName("org.ukthreads.fixtures.junit.SimulatedTest$Locks");
		Method m = c.getDeclaredMethod("in_two_orders");
		SimFailure f = assertThrows(SimFailure.class,
			() -> PicoSimExtension.simulate(c, m, m.getAnnotation(PicoSim.class)));
		assertTrue(f.getCause() instanceof Sim.DeadlockException, f.toString());
		assertEquals(1, f.outcome().preemptions);
		assertTrue(f.getMessage().contains("again: @PicoSim(replay = \""
			+ f.outcome().token() + "\")"), f.getMessage());
		assertTrue(f.getMessage().contains("SimulatedTest$Locks.both"), f.getMessage());
	}
}
