// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.List;

/** Gives the oracle access to the frames of a fiber that does not run. */
public final class Stopped {
	private Stopped() {}

	/** True if it has begun and not ended. */
	public static boolean hasFrames(Fiber f) {
		return f.top != null;
	}

	public static int depth(Fiber f) {
		return Packed.frames(f.top).size();
	}

	/** Its frames as a separate continuation, for a codec. */
	public static Continuation frames(Fiber f) {
		Continuation k = new Continuation(null);
		k.adopt(f.top);
		return k;
	}

	/** Makes the fiber continue with the frames of k. */
	public static void replace(Fiber f, Continuation k) {
		f.top = k.top;
	}

	/** All references in its frames. */
	public static void refs(Fiber f, List<Object> to) {
		for (Frame x : Packed.frames(f.top))
			for (int k = 0; k < x.refs(); k++)
				if (x.getA(k) != null)
					to.add(x.getA(k));
	}

	/** Runs r while the fiber seems to have no frames, so that a walk does not see them. */
	public static void without(Fiber f, Runnable r) {
		Frame top = f.top;
		f.top = null;
		try {
			r.run();
		} finally {
			f.top = top;
		}
	}

	/** Objects whose monitors it holds (and counts). */
	public static List<Object> held(Fiber f) {
		return Monitors.heldBy(f);
	}
}
