/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** The JDK's virtual threads. */
final class VirtualThreads implements Threads {
	private final Method start;

	private VirtualThreads(Method start) {
		this.start = start;
	}

	static boolean supported() {
		try {
			open();
			return true;
		} catch (IllegalArgumentException e) {
			return false;
		}
	}

	static VirtualThreads open() {
		try {
			return new VirtualThreads(
					Thread.class.getMethod("startVirtualThread", Runnable.class));
		} catch (NoSuchMethodException e) {
			throw new IllegalArgumentException("this JDK ("
					+ System.getProperty("java.specification.version")
					+ ") has no virtual threads: use JDK 21 or later, or another --threads");
		}
	}

	@Override
	public boolean start(String name, Runnable task) {
		try {
			start.invoke(null, task);
			return true;
		} catch (IllegalAccessException | InvocationTargetException e) {
			throw new IllegalStateException("cannot start a virtual thread for " + name, e);
		}
	}

	@Override
	public void close() {
		// Each thread ends with its task.
	}
}
