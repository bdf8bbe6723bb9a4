// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;

/** Java 21: builders; hooks; the exit code of a main that throws. */
public final class Hooks {
	static void p(String s) {
		System.out.println(s);
	}

	public static void main(String[] args) throws Exception {
		Thread hook = new Thread(() -> {
			try {
				Thread.sleep(50);
			} catch (InterruptedException e) {
				p("" + e);
			}
			p("hook");
		});
		Runtime.getRuntime().addShutdownHook(hook);
		Thread not = new Thread(() -> p("removed hook"));
		Runtime.getRuntime().addShutdownHook(not);
		p("removed " + Runtime.getRuntime().removeShutdownHook(not)
			+ Runtime.getRuntime().removeShutdownHook(not));
		try {
			Runtime.getRuntime().addShutdownHook(hook);
		} catch (IllegalArgumentException e) {
			p("twice");
		}
		List<Thread> ts = new ArrayList<>();
		ts.add(Thread.ofPlatform().name("p-", 5).daemon().priority(8).start(Hooks::show));
		Thread.Builder b = Thread.ofVirtual().name("v-", 1);
		ts.add(b.start(Hooks::show));
		Thread u = b.unstarted(Hooks::show);
		p("unstarted " + u.getState() + u.isVirtual() + u.isDaemon() + u.getName());
		u.start();
		ts.add(u);
		ts.add(Thread.startVirtualThread(Hooks::show));
		ThreadFactory f = Thread.ofPlatform().name("f-", 0).factory();
		for (int k = 0; k < 2; k++)
			ts.add(f.newThread(Hooks::show));
		ts.get(4).start();
		ts.get(5).start();
		ts.add(Thread.ofVirtual().name("h").uncaughtExceptionHandler((t, e) ->
			p(t.getName() + " threw " + e.getMessage())).start(() -> {
				throw new IllegalStateException("x");
			}));
		for (Thread t : ts)
			if (!t.join(java.time.Duration.ofSeconds(20)))
				p("late");
		Thread.sleep(java.time.Duration.ofMillis(2));
		Thread main = Thread.currentThread();
		Thread slow = Thread.ofPlatform().start(() -> {
			try {
				main.join();
			} catch (InterruptedException e) {
				p("" + e);
			}
			p("slow end");
		});
		p("joined " + slow.join(java.time.Duration.ofMillis(5)));
		virtual();
		throw new IllegalStateException("main throws");
	}

	/** What a virtual thread is, and is not. */
	static void virtual() throws Exception {
		ThreadLocal<String> local = new InheritableThreadLocal<>();
		local.set("inherited");
		for (boolean on : new boolean[] {true, false}) {
			Thread.ofVirtual().inheritInheritableThreadLocals(on)
				.start(() -> p(on + " " + local.get())).join();
			Thread.ofPlatform().inheritInheritableThreadLocals(on)
				.start(() -> p(on + " " + local.get())).join();
		}
		Thread v = Thread.ofVirtual().name("v").unstarted(() -> {
			try {
				Thread.sleep(100_000);
			} catch (InterruptedException e) {
				p("woken");
			}
		});
		p(v.toString().replaceAll("#\\d+", "#"));
		v.setPriority(9);
		try {
			v.setPriority(11);
		} catch (IllegalArgumentException e) {
			p("not 11");
		}
		p(v.getPriority() + v.getThreadGroup().getName());
		v.start();
		while (v.getState() != Thread.State.TIMED_WAITING)
			Thread.sleep(1);
		Thread[] all = new Thread[100];
		int n = Thread.enumerate(all);
		boolean found = Thread.getAllStackTraces().containsKey(v);
		for (int k = 0; k < n; k++)
			found |= all[k] == v;
		p("found " + found + v.toString().replaceAll("#\\d+", "#"));
		v.interrupt();
		v.join();
		p(v.toString().replaceAll("#\\d+", "#") + v.getThreadGroup());
		Thread.ofVirtual().start(() -> p(Thread.currentThread().toString()
			.replaceAll("#\\d+|@.*", ""))).join();
	}

	static void show() {
		Thread t = Thread.currentThread();
		try {
			Thread.sleep(1);
		} catch (InterruptedException e) {
			p("" + e);
		}
		p(t.getName() + " " + t.isDaemon() + t.isVirtual() + t.getPriority());
	}
}
