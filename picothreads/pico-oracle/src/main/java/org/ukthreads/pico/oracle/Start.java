// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.oracle;

import org.ukthreads.pico.PicoThread;
import org.ukthreads.pico.Reflect;

/** Runs a main method as a pico thread: <code>Start MAIN ARG...</code>. */
public final class Start {
	private Start() {}

	public static void main(String[] a) throws Exception {
		String[] rest = new String[a.length - 1];
		System.arraycopy(a, 1, rest, 0, rest.length);
		new PicoThread(null, Reflect.task(Class.forName(a[0]).getMethod("main",
			String[].class), new Object[] {rest}), "main").start();
	}
}
