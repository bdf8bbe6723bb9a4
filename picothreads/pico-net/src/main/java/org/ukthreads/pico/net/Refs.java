// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.concurrent.Callable;
import org.ukthreads.pico.Blocking;

/** Lets ReferenceQueue.remove wait on a helper thread; threads of database drivers call it. */
public final class Refs {
	private Refs() {}

	/** Replaces ReferenceQueue.remove. */
	public static Reference<?> remove(ReferenceQueue<?> q) throws InterruptedException {
		return remove(q, 0);
	}

	public static Reference<?> remove(ReferenceQueue<?> q, long millis)
			throws InterruptedException {
		Reference<?> r = q.poll();
		return r != null ? r : waited(() -> q.remove(millis));
	}

	private static Reference<?> waited(Callable<Reference<?>> c) throws InterruptedException {
		try {
			return (Reference<?>) Blocking.interruptibly(c);
		} catch (InterruptedException | RuntimeException e) {
			throw e;
		} catch (Exception e) {
			throw new IllegalStateException(e);
		}
	}
}
