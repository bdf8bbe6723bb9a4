// SPDX-License-Identifier: Apache-2.0

import java.io.InputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ServiceLoader;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Which class loader and group the threads of the JDK's pools have, and loaders beside it. */
public class Main {
	public interface Greeter {
		String hello();
	}

	public static class English implements Greeter {
		@Override
		public String hello() {
			try {
				Thread.sleep(1);
			} catch (InterruptedException e) {
				return "" + e;
			}
			return "hello";
		}
	}

	/** Two loaders load it. */
	public static class Twice {
		static int calls;

		public static String say(String s) throws Exception {
			Thread.sleep(1);
			synchronized (Twice.class) {
				Twice.class.wait(1);
			}
			calls++;
			Thread.sleep(1);
			return s + calls;
		}
	}

	static void p(Object o) {
		System.out.println(o);
	}

	static String found() {
		ClassLoader l = Thread.currentThread().getContextClassLoader();
		StringBuilder b = new StringBuilder();
		try {
			b.append(Class.forName("Main$English", true, l) == English.class);
			for (Greeter g : ServiceLoader.load(Greeter.class))
				b.append(g.hello());
		} catch (ReflectiveOperationException e) {
			b.append(e);
		}
		return b + " " + (l == ClassLoader.getSystemClassLoader());
	}

	static String place() {
		return found() + " " + Thread.currentThread().getThreadGroup().getName();
	}

	/** Runs c in a thread with another group and loader than main. */
	static void elsewhere(String name, Callable<?> c) throws Exception {
		Thread t = new Thread(new ThreadGroup(name), () -> {
			try {
				p(name + " " + c.call());
			} catch (Exception e) {
				p(name + " " + e);
			}
		});
		t.setContextClassLoader(new ClassLoader(Main.class.getClassLoader()) {});
		t.start();
		t.join();
	}

	static ForkJoinWorkerThread named(ForkJoinPool p) {
		ForkJoinWorkerThread t = ForkJoinPool.defaultForkJoinWorkerThreadFactory.newThread(p);
		t.setName("named");
		return t;
	}

	static String in(ForkJoinPool p, Callable<String> c) throws Exception {
		String s = p.submit(c).get();
		p.shutdown();
		return s + p.awaitTermination(1, TimeUnit.MINUTES);
	}

	static String same(ForkJoinPool p) {
		return " " + (p.getFactory() == ForkJoinPool.defaultForkJoinWorkerThreadFactory);
	}

	static void pools() throws Exception {
		elsewhere("common pool", () -> {
			CompletableFuture<String> f = new CompletableFuture<>();
			ForkJoinPool.commonPool().execute(() -> f.complete(found()));
			return f.get();
		});
		elsewhere("async", () -> CompletableFuture.supplyAsync(Main::found).get());
		elsewhere("default pool", () -> in(new ForkJoinPool(), Main::place));
		elsewhere("pool", () -> in(new ForkJoinPool(2), Main::place));
		elsewhere("own factory", () -> in(new ForkJoinPool(1, Main::named, null, true),
			() -> place() + Thread.currentThread().getName()));
		elsewhere("factories", () -> {
			ForkJoinPool mine = new ForkJoinPool(1, Main::named, null, true);
			return same(new ForkJoinPool(1)) + same(new ForkJoinPool(2, new ForkJoinPool(1)
				.getFactory(), null, false)) + same(mine);
		});
		elsewhere("all parameters", () -> in(new ForkJoinPool(1,
			ForkJoinPool.defaultForkJoinWorkerThreadFactory, null, false, 1, 2, 0, null, 1,
			TimeUnit.SECONDS), Main::place));
		elsewhere("stealing", () -> {
			ExecutorService x = Executors.newWorkStealingPool(2);
			return x.submit(Main::place).get();
		});
		CyclicBarrier both = new CyclicBarrier(2);
		p("parallel " + IntStream.range(0, 2).parallel().mapToObj(k -> {
			try {
				both.await();
			} catch (Exception e) {
				return "" + e;
			}
			return found();
		}).collect(Collectors.toCollection(TreeSet::new)));
	}

	/** The class path's own class and one of another loader, in turns. */
	static void twice(String name, ClassLoader l) throws Exception {
		Class<?> c = l.loadClass("Main$Twice");
		CountDownLatch ended = new CountDownLatch(1);
		new Thread(() -> {
			try {
				p(name + " " + (c != Twice.class) + c.getMethod("say", String.class).invoke(null, name)
					+ Twice.say(" ours ") + c.getMethod("say", String.class).invoke(null, " again "));
			} catch (Exception e) {
				p(name + " " + e + e.getCause());
			}
			ended.countDown();
		}).start();
		ended.await();
	}

	public static void main(String[] args) throws Exception {
		ClassLoader me = Main.class.getClassLoader();
		p("main " + found());
		pools();
		URL[] here = {Main.class.getProtectionDomain().getCodeSource().getLocation()};
		try (URLClassLoader l = new URLClassLoader(here, null)) {
			twice("alone", l);
		}
		byte[] file;
		try (InputStream in = me.getResourceAsStream("Main$Twice.class")) {
			file = in.readAllBytes();
		}
		twice("first", new ClassLoader(me) {
			@Override
			protected Class<?> loadClass(String n, boolean resolve) throws ClassNotFoundException {
				if (!n.equals("Main$Twice"))
					return super.loadClass(n, resolve);
				Class<?> c = findLoadedClass(n);
				return c != null ? c : defineClass(n, file, 0, file.length);
			}
		});
		System.exit(0);
	}
}
