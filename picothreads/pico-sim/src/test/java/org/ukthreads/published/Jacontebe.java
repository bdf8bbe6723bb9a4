// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.published;

import org.apache.commons.dbcp.datasources.SharedPoolDataSource;
import org.apache.commons.pool.BasePoolableObjectFactory;
import org.apache.commons.pool.impl.GenericObjectPool;

/**
 * Bugs of published libraries, in the versions that have them: two bugs of JaConTeBe (Lin,
 * Marinov, Zhong, *JaConTeBe: a benchmark suite of real-world Java concurrency bugs*, ASE 2015).
 * A careful program (careful true) avoids them.
 */
public final class Jacontebe {
	private Jacontebe() {}

	private interface Act {
		void act() throws Exception;
	}

	/**
	 * Libraries declare that they throw anything. An exception that is not expected is a failure.
	 */
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

	/**
	 * POOL-162: a thread that an interrupt ends stays in the queue, and gets an object that is
	 * returned.
	 */
	public static final class Pool162 implements Runnable {
		private final boolean careful;

		public Pool162(boolean careful) {
			this.careful = careful;
		}

		private static void use(GenericObjectPool pool) throws Exception {
			try {
				pool.returnObject(pool.borrowObject());
			} catch (InterruptedException e) {
				/* The interrupt asked the thread to end. */
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

	/**
	 * DBCP-369: one thread registers an object and walks the map of all; another removes itself
	 * from it.
	 */
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
