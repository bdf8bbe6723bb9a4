// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.security.SecureRandom;
import java.security.SecureRandomSpi;
import java.util.Random;

/** Replaces `new SecureRandom()` in a simulated program: not secure, but repeatable. */
public class SimSecureRandom extends SecureRandom {
	private static final long serialVersionUID = 1;

	private static final class Drawn extends SecureRandomSpi {
		private static final long serialVersionUID = 1;
		private final Random from = new Random(Sim.random().nextLong());

		@Override
		protected void engineSetSeed(byte[] seed) {}

		@Override
		protected void engineNextBytes(byte[] b) {
			from.nextBytes(b);
		}

		@Override
		protected byte[] engineGenerateSeed(int n) {
			byte[] b = new byte[n];
			from.nextBytes(b);
			return b;
		}
	}

	public SimSecureRandom() {
		super(new Drawn(), null);
	}

	public SimSecureRandom(byte[] seed) {
		this();
	}
}
