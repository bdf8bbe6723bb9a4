// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

/** Rounds a frame's counts up to a class of Frames; must agree with GenFrames (pico-rt). */
final class Shape {
	private static final int[] I = {0, 1, 2, 3, 4, 6, 8};
	private static final int[] J = {0, 1, 2, 4};
	private static final int[] A = {0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16};

	final int i;
	final int j;
	final int a;
	/** More than the largest class holds: arrays. */
	final boolean wide;

	Shape(int ints, int longs, int refs) {
		wide = ints > I[I.length - 1] || longs > J[J.length - 1] || refs > A[A.length - 1];
		i = wide ? ints : up(I, ints);
		j = wide ? longs : up(J, longs);
		a = wide ? refs : up(A, refs);
	}

	private static int up(int[] t, int n) {
		for (int x : t)
			if (x >= n)
				return x;
		throw new AssertionError();
	}

	String className() {
		return wide ? "org/ukthreads/pico/WideFrame"
			: "org/ukthreads/pico/Frames$F" + i + "_" + j + "_" + a;
	}

	/** The descriptor of Pushes.push. */
	String pushDesc() {
		return wide ? "([I[J[Ljava/lang/Object;)V"
			: "(" + "I".repeat(i) + "J".repeat(j) + "Ljava/lang/Object;".repeat(a) + ")V";
	}
}
