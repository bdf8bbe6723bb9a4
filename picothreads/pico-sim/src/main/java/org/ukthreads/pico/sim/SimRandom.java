// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.util.Random;

/** Replaces `new Random()` in a simulated program: the simulation draws its seed. */
public class SimRandom extends Random {
	private static final long serialVersionUID = 1;

	public SimRandom() {
		super(Sim.random().nextLong());
	}

	public SimRandom(long seed) {
		super(seed);
	}
}
