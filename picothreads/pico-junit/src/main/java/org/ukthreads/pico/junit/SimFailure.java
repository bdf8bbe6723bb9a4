// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.junit;

import org.ukthreads.pico.sim.Sim;

/**
 * A test has failed under a seed. The message names the seed, how to repeat the run, and the
 * turns of its schedule.
 */
public final class SimFailure extends AssertionError {
	private static final long serialVersionUID = 1;
	private final transient Sim.Outcome outcome;

	SimFailure(Sim.Outcome o, String covered) {
		super(o + "\nagain: @PicoSim(replay = \"" + o.token() + "\")\n" + o.told() + covered,
			o.failure);
		outcome = o;
	}

	public Sim.Outcome outcome() {
		return outcome;
	}
}
