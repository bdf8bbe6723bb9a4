// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.published;

import org.apache.commons.dbcp.datasources.SharedPoolDataSource;
import org.apache.commons.pool.BasePoolableObjectFactory;
import org.apache.commons.pool.impl.GenericObjectPool;

/**
 * Bugs of published libraries, in the versions that have them: two of JaConTeBe's (Lin, Marinov,
 * Zhong, *JaConTeBe: a benchmark suite of real-world Java concurrency bugs*, ASE 2015). A careful
 * program (careful true) keeps out of their way.
 */
public final class Jacontebe {
	private Jacontebe() {}

	private interface Act {
		void act() throws Exception;
	}

	/** Libraries declare that anything is thrown; what is not expected is a failure. */
	private static Runnable all(Act a) {
		return () -> {
			try {
				a.act();
			} catch (RuntimeException e) {
				throw e;
			} catch (Exception e) {
				throw new AssertionError(e);
			}
		};
	}

	private static final class Factory extends BasePoolableObjectFactory {
		@Override
		public Object makeObject() {
			return new Object();
		}
	}

	/** POOL-162: whom an interrupt ends stays in the queue, and is given what comes back. */
	public static final class Pool162 implements Runnable {
		private final boolean careful;

		public Pool162(boolean careful) {
			this.careful = careful;
		}

		private static void use(GenericObjectPool pool) throws Exception {
			try {
				pool.returnObject(pool.borrowObject());
			} catch (InterruptedException e) {
				/* It was asked to end. */
			}
		}

		@Override
		public void run() {
			all(() -> {
				GenericObjectPool pool = new GenericObjectPool(new Factory(), 1);
				Object one = pool.borrowObject();
				Thread user = new Thread(all(() -> use(pool)), "user");
				user.start();
				if (!careful)
					user.interrupt();
				pool.returnObject(one);
				user.join();
				use(pool);
			}).run();
		}
	}

	/** DBCP-369: one registers, and goes through the map of all; the other takes itself out. */
	public static final class Dbcp369 implements Runnable {
		private final boolean careful;
		private final Object lock = new Object();

		public Dbcp369(boolean careful) {
			this.careful = careful;
		}

		private Thread started(Runnable r) {
			Thread t = new Thread(() -> {
				if (careful)
					synchronized (lock) {
						r.run();
					}
				else
					r.run();
			});
			t.start();
			return t;
		}

		@Override
		public void run() {
			all(() -> {
				SharedPoolDataSource first = new SharedPoolDataSource();
				first.setDataSourceName("first");
				Thread opens = started(() ->
					new SharedPoolDataSource().setDataSourceName("second"));
				Thread closes = started(all(first::close));
				opens.join();
				closes.join();
			}).run();
		}
	}
}
