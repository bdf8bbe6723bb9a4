// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import org.ukthreads.pico.Blocking;
import org.ukthreads.pico.Freezer;
import org.ukthreads.pico.KeptFiber;
import org.ukthreads.pico.PicoRuntime;

/*
 * Threads that are kept in a store.
 *
 *   start --> stored, runs --+-- commit, long sleep, receive --> stored again
 *                            +-- any other wait, when it lasts --> stored again, or reported
 *                            +-- waits for long (passiveAfter) --> leaves the memory
 *                            +-- ends --> removed; a record that it has ended stays
 *                            +-- throws --> stays as last stored, failed
 *   open  --> finds what the store holds; resume() --> all threads go on, or those that are due
 *   a thread of the store is due (time, message, its worker has died) --> it goes on here
 *
 * Keys: t/<id> is a thread, m/<id>/<number> a message that it has not consumed for good, e/<id> the
 * header of a thread that has ended. START looks for the last one, so that no id runs twice.
 *
 * There are three OS threads beside the runtime's: the writer (all changes, in batches), the
 * watcher (threads that wait for long), and the poller (the lease, messages from others, threads
 * that are due).
 */
public final class Vault implements Closeable {
	static final String THREAD = "t/";
	static final String MESSAGE = "m/";
	static final String ENDED = "e/";
	/** How many threads are read from the store at a time. */
	private static final int CHUNK = 256;

	final PicoRuntime runtime;
	final Codec codec;
	final Seal seal;
	final Writer writer;
	private final Shelf shelf;
	private final Map<String, DurableThread> running = new ConcurrentHashMap<>();
	private final Map<String, Throwable> failed = new ConcurrentHashMap<>();
	private final ReentrantLock lock = new ReentrantLock();
	/** Signalled when a thread leaves `running`. */
	private final Condition gone = lock.newCondition();
	private volatile BiConsumer<String, Throwable> onFailure = (id, e) -> {
		System.err.print("durable thread " + id + ": ");
		e.printStackTrace();
	};
	private volatile BiConsumer<String, String> onUnsaved = (id, why) ->
		System.err.println("durable thread " + id + ' ' + why);
	private volatile BiConsumer<String, String> onRestart = (id, why) ->
		System.err.println("durable thread " + id + ' ' + why);
	private volatile Migration migration = p -> null;
	private final Map<String, String> unsaved = new ConcurrentHashMap<>();
	private volatile boolean closed;
	volatile long sleepNanos = 1_000_000_000;
	/** 0: never. */
	private volatile long passiveNanos;
	private volatile long pollNanos = 100_000_000;
	private volatile int most = 10_000;
	private final Meter meter = new Meter();
	private final Seen seen = new Seen();
	/** How many threads have to move to other workers, at their next commit. */
	private final AtomicInteger tooMany = new AtomicInteger();
	/** Guarded by this. */
	private Thread poller;
	private Thread watcher;
	/** Until this time (System.nanoTime) threads that are due are left to other workers. */
	private volatile long modest = System.nanoTime();
	private volatile Shelf.Workers workers = new Shelf.Workers();

	/**
	 * @throws DurableException the store cannot be read, or the key file is gone and the store is
	 *     not empty
	 */
	public Vault(Store store, Seal seal, Codec codec) {
		this(store, seal, codec, PicoRuntime.main());
	}

	public Vault(Store store, Seal seal, Codec codec, PicoRuntime runtime) {
		shelf = store instanceof JdbcStore ? ((JdbcStore) store).table : new Alone(store, false);
		this.seal = seal;
		this.codec = codec;
		this.runtime = runtime;
		try {
			if (!seal.isReady())
				seal.ready(store.keys().isEmpty());
		} catch (IOException e) {
			throw new DurableException("the store or its key cannot be read: " + e, e);
		}
		if (shelf.shared())
			passiveNanos = 10_000_000_000L;
		writer = new Writer(shelf);
		watcher = KeptFiber.platform("pico-durable-watch", this::watch);
		watcher.start();
	}

	/** Stores threads that have waited for long, and lets parked threads leave the memory. */
	private void watch() {
		while (!closed) {
			long n = passiveNanos;
			LockSupport.parkNanos(Math.max(5_000_000,
				Math.min(sleepNanos, n > 0 ? n : sleepNanos) / 4));
			for (DurableThread t : running.values())
				if (!closed) {
					t.keep(sleepNanos);
					Act a = n > 0 ? t.passivate(n) : null;
					if (a != null)
						release(t, a);
				}
		}
	}

	/**
	 * Stores that a thread has left the memory. If the store fails, it tries again until the vault
	 * is closed.
	 */
	private void release(DurableThread t, Act a) {
		try {
			writer.add(a, x -> {
				if (x == null || x instanceof FencedException) {
					meter.passivated.increment();
					gone(t);
				} else if (!closed) {
					meter.storeFailures.increment();
					LockSupport.parkNanos(pollNanos);
					release(t, a);
				}
			});
		} catch (DurableException e) {
			/* The vault is closed: the thread stays as it was stored. */
		}
	}

	/**
	 * Sets how long, in milliseconds, a Thread.sleep must be to be stored, and how long a thread
	 * must have waited in any other call. The default is 1,000.
	 */
	public Vault sleepsFrom(long millis) {
		sleepNanos = millis * 1_000_000;
		return this;
	}

	/**
	 * Makes a thread leave the memory that has been in a stored sleep or receive for that many
	 * milliseconds, and will stay in it for as long again. It comes back when it is due. resume()
	 * then reads the threads that are due, not all. 0 means never. The default is 10,000 for a
	 * database and 0 for a store of one process.
	 */
	public Vault passiveAfter(long millis) {
		passiveNanos = millis * 1_000_000;
		LockSupport.unpark(watcher);
		return this;
	}

	/**
	 * Sets how often the store is asked for threads that are due, in milliseconds. The default is
	 * 100.
	 */
	public Vault pollEvery(long millis) {
		pollNanos = Math.max(1, millis) * 1_000_000;
		return this;
	}

	/**
	 * Sets the number of threads in memory at which this vault takes no more threads that are due.
	 * start() and resume() are not limited. The default is 10,000.
	 */
	public Vault atMost(int threads) {
		most = threads;
		return this;
	}

	/**
	 * Sets what is told of threads that failed or could not be resumed. By default they are printed
	 * to System.err. What it throws is printed and changes nothing.
	 */
	public Vault onFailure(BiConsumer<String, Throwable> f) {
		onFailure = f;
		return this;
	}

	/**
	 * Sets what is told of threads that wait for long and cannot be stored there, with the call and
	 * the reason. By default they are printed to System.err. What it throws is printed and changes
	 * nothing.
	 */
	public Vault onUnsaved(BiConsumer<String, String> f) {
		onUnsaved = f;
		return this;
	}

	/**
	 * Sets what is told of threads that were killed before they were stored in any wait, and begin
	 * again in another release than the one that started them. By default they are printed to
	 * System.err.
	 */
	public Vault onRestart(BiConsumer<String, String> f) {
		onRestart = f;
		return this;
	}

	/** Sets what is asked for a new task when a thread's code has changed; see Migration. */
	public Vault onChanged(Migration m) {
		migration = m;
		return this;
	}

	/**
	 * Remembers also in that file which record of each thread was the last, so that an older one
	 * that somebody puts back is refused also after a restart. (Without it, this vault refuses what
	 * is older than what it has itself stored or read.) Keep the file where those who can write the
	 * store cannot write it. Each worker needs its own. Call this before resume().
	 */
	public Vault remember(Path file) throws IOException {
		seen.open(file);
		return this;
	}

	/** Returns the last report to onUnsaved of each thread that runs here. */
	public Map<String, String> unsaved() {
		return new TreeMap<>(unsaved);
	}

	void unsaved(String id, String where, Throwable why) {
		String s = "waits in " + where + ", and cannot be stored there: "
			+ (why instanceof DurableException ? why.getMessage() : why)
			+ ". A crash takes it back to where it was last stored";
		if (!s.equals(unsaved.put(id, s)))
			tell(onUnsaved, id, s);
	}

	/** Calls code of the program. What it throws must not end the OS thread that calls it. */
	private static <T> void tell(BiConsumer<String, T> to, String id, T what) {
		try {
			to.accept(id, what);
		} catch (Throwable e) {
			System.err.println("durable thread " + id + ": the handler threw " + e);
		}
	}

	static String message(String id, Object number) {
		return MESSAGE + id + '/' + number;
	}

	/** Returns the number in a message's key; 0: the key is not a message's. */
	static long number(String key) {
		int at = key.lastIndexOf('/');
		try {
			return at < MESSAGE.length() ? 0 : Long.parseLong(key.substring(at + 1));
		} catch (NumberFormatException e) {
			return 0;
		}
	}

	/**
	 * Starts a new thread, which is stored when this returns. The task must be Serializable.
	 *
	 * @throws StartedException a thread of this id is in the store or has ended
	 */
	public void start(String id, Runnable task) {
		DurableThread t = new DurableThread(this, id, task);
		if (running.putIfAbsent(id, t) != null)
			throw new StartedException("a thread " + id + " runs here already");
		try {
			Act a = Act.of(Act.Op.START, id, t.record(task), 0);
			store(then -> writer.add(a, x -> {
				try {
					if (x == null)
						begin(t, a.owner);
					else
						running.remove(id, t);
				} finally {
					then.accept(x);
				}
			}));
		} catch (RuntimeException | Error e) {
			/* A caller that was interrupted does not know the outcome; the writer does. */
			if (!(e.getCause() instanceof InterruptedException))
				running.remove(id, t);
			throw e;
		}
	}

	/** Called by the writer when the first record of a thread is stored. */
	private void begin(DurableThread t, long worker) {
		t.worker = worker;
		seen.saw(t.id, 1);
		meter.started.increment();
		t.go();
		polls();
	}

	/**
	 * Removes a thread that no worker runs (it has failed, was refused, or is parked), and the
	 * messages to it.
	 */
	public void remove(String id) throws IOException {
		if (running.containsKey(id))
			throw Alone.running(id);
		store(then -> writer.add(new Act(Act.Op.REMOVE, id), then));
		seen.ended(id);
		failed.remove(id);
	}

	/**
	 * Removes the record that a thread has ended, so that its id can be started again. Returns
	 * false if there is none.
	 */
	public boolean forget(String id) {
		return forget(id, Act.NEVER) > 0;
	}

	/** Does the same for all threads that ended before that time, and returns how many. */
	public long forgetBefore(Instant time) {
		long all = 0;
		for (long n; (n = forget("", time.toEpochMilli())) > 0;)
			all += n;
		return all;
	}

	private long forget(String id, long before) {
		Act a = new Act(Act.Op.FORGET, id);
		a.due = before;
		store(then -> writer.add(a, then));
		return a.number;
	}

	/**
	 * Sends a message to a thread of this store, whichever worker runs it. The message is stored
	 * when this returns.
	 */
	public void send(String id, Object value) {
		/* The receiver gets its own copy, as it would after a restart. */
		byte[] v = codec.value(value);
		post(id, Header.MESSAGE, v, codec.value(new Bytes(v, 0)));
	}

	/**
	 * Asks a thread of this store to end. If it sleeps or waits, it gets an InterruptedException,
	 * if it receives, a CancelledException. Its finally blocks run, and it may undo what it did.
	 * This is stored when the call returns, so no crash loses it.
	 */
	public void cancel(String id) {
		post(id, Header.CANCEL, new byte[0], DurableThread.CANCEL);
	}

	/** @param kind Header.MESSAGE or CANCEL, the first byte of the record */
	private void post(String id, int kind, byte[] v, Object copy) {
		known(id);
		Act a = new Act(Act.Op.SEND, id);
		a.sealer = n -> {
			Bytes b = new Bytes(v.length + 1 + Seal.SIZE);
			b.put(kind);
			b.raw(v, v.length);
			return seal.close(message(id, n), b);
		};
		store(then -> writer.add(a, x -> {
			DurableThread t = running.get(id);
			if (x == null && t != null)
				t.deliver(a.number, copy);
			then.accept(x);
		}));
		meter.sent.increment();
	}

	/**
	 * Checks, before the first message, that this vault can open the store's threads. A message
	 * that its receiver cannot open would keep the receiver from ever being resumed.
	 */
	private void known(String id) {
		if (running.containsKey(id) || isOurs && !failed.containsKey(id))
			return;
		try {
			byte[] record = writer.ask(s -> s.get(THREAD + id));
			if (record != null) {
				seal.open(THREAD + id, record);
				isOurs = true;
			}
		} catch (IOException e) {
			throw new DurableException("the store failed: " + e, e);
		}
	}

	/** Calls that wait for the writer must not come from the writer, which runs transactions. */
	static void outside() {
		KeptFiber.outside("a call of a vault");
	}

	/** A key of this vault has opened a thread of the store. */
	private volatile boolean isOurs;

	/**
	 * Waits for the outcome of acts. {@code how} gives them to the writer, with what is to be told
	 * of the outcome.
	 */
	private void store(Consumer<Consumer<Throwable>> how) {
		outside();
		FutureTask<Throwable> done = new FutureTask<>(() -> null);
		Throwable[] bad = new Throwable[1];
		how.accept(e -> {
			bad[0] = e;
			done.run();
		});
		try {
			Blocking.call(done::get);
		} catch (InterruptedException e) {
			throw new DurableException("interrupted: the outcome is not known", e);
		} catch (ExecutionException e) {
			throw new DurableException("this cannot happen", e);
		} catch (Exception e) {
			throw new DurableException(e.toString(), e);
		}
		if (bad[0] != null)
			throw (DurableException) bad[0];
	}

	/* --- resuming --- */

	/**
	 * Resumes the threads of the store that no worker runs: all of them or, if threads leave the
	 * memory (passiveAfter), those that are due. From now on this vault takes part: it resumes
	 * threads that become due, and those of workers that have died. Threads that have failed are
	 * tried again.
	 *
	 * @return the threads that were resumed. The others, such as those whose code has changed, stay
	 *     in the store as they are, are reported to onFailure, and are in failed()
	 */
	public List<String> resume() throws IOException {
		List<String> ok = new ArrayList<>();
		boolean first = true;
		/* What failed a moment ago may still be on its way to the store. */
		store(then -> writer.add(Collections.emptyList(), then));
		if (shelf.shared())
			beat();
		for (;;) {
			boolean f = first;
			List<Shelf.Claim> cs = writer.ask(s -> s.claim(until(), f ? Integer.MAX_VALUE / 2
				: CHUNK, f));
			first = false;
			if (cs.isEmpty())
				break;
			long worker = writer.ask(Shelf::worker);
			for (Shelf.Claim c : cs)
				if (resume(c, worker))
					ok.add(c.id);
		}
		polls();
		Collections.sort(ok);
		return ok;
	}

	/** Returns the time up to which due threads are resumed here. */
	private long until() {
		return passiveNanos > 0 ? runtime.clock().millis() : Long.MAX_VALUE;
	}

	/** Resumes a thread that this worker owns. Returns false if that fails. */
	private boolean resume(Shelf.Claim c, long worker) {
		DurableThread t = null;
		try {
			byte[] record = writer.ask(s -> s.get(THREAD + c.id));
			if (record == null)
				return false;
			notOlder(c.id, record);
			try {
				t = DurableThread.read(this, c.id, record);
			} catch (Freezer.ChangedException e) {
				t = migrated(c.id, record, worker, e);
			}
			t.worker = worker;
			fetch(t, c.sent);
			/*
			 * An older copy may be here: it is about to leave, because it was passive or this
			 * worker was fenced; or start() is about to report that a thread of that id exists.
			 */
			DurableThread old = running.put(c.id, t);
			if (old != null && old.worker != 0)
				lost(old);
			failed.remove(c.id);
			t.go();
			meter.resumed.increment();
			return true;
		} catch (Throwable e) {
			/* Errors, too (such as a missing class): the other threads must be resumed. */
			if (t != null && running.get(c.id) != t)
				Freezer.drop(t);
			if (e instanceof Link.LostException)
				giveBack(c.id, worker);
			else
				fail(c.id, worker, e);
			return false;
		}
	}

	/** Frees a thread that could not be read: a worker must read it when the database is back. */
	private void giveBack(String id, long worker) {
		Act a = Act.of(Act.Op.RELEASE, id, null, worker);
		a.due = 0;
		late(a, x -> {});
	}

	private void notOlder(String id, byte[] record) {
		long n = new Header(seal.open(THREAD + id, record)).seq;
		if (n < seen.last(id))
			throw new DurableException(THREAD + id + ": record number " + n + " was put back:"
				+ " number " + seen.last(id) + " was stored after it");
		seen.saw(id, n);
	}

	void restarts(String id, String release) {
		tell(onRestart, id, "was killed before it was stored in any wait; it was started by"
			+ " release " + release + ", and begins again in release " + codec.releaseOf(null));
	}

	/**
	 * Returns the thread that the program's Migration makes; if it makes none, throws the change.
	 */
	private DurableThread migrated(String id, byte[] record, long worker,
			Freezer.ChangedException e) {
		Parked p = Parked.of(id, seal.open(THREAD + id, record), codec);
		Runnable task = migration.migrate(p);
		if (task == null)
			throw e;
		DurableThread t = new DurableThread(this, id, task);
		t.worker = worker;
		Act a = Act.of(Act.Op.SAVE, id, t.migrated(task, p.head), worker);
		store(then -> writer.add(a, then));
		return t;
	}

	/** Delivers the messages up to number {@code sent} that the thread does not have. */
	private void fetch(DurableThread t, long sent) throws IOException {
		for (long n; (n = t.heard() + 1) <= sent;) {
			String key = message(t.id, n);
			byte[] b = writer.ask(s -> s.get(key));
			if (b == null) {
				/*
				 * It was removed, perhaps with an earlier thread of the same id, or another worker
				 * has consumed it.
				 */
				if (!t.skip(n))
					return;
				continue;
			}
			Bytes m = seal.open(key, b);
			Object value = m.get() == Header.CANCEL ? DurableThread.CANCEL
				: codec.value(new Bytes(Arrays.copyOfRange(m.b, m.n, m.b.length), 0));
			if (!t.deliver(n, value) && t.heard() < n)
				return;
		}
	}

	/** Reports a failed thread. It stays in the store as it is, and is no longer due. */
	private void fail(String id, long worker, Throwable e) {
		report(id, e);
		Act a = Act.of(Act.Op.FAILED, id, null, worker);
		String s = e.toString();
		a.why = s.substring(0, Math.min(990, s.length()));
		late(a, x -> {});
	}

	/**
	 * Adds an act for a thread that has ended. If the vault is closed, the next one finds the
	 * thread as it was stored.
	 */
	private void late(Act a, Consumer<Throwable> then) {
		try {
			writer.add(a, then);
		} catch (DurableException e) {
			then.accept(null);
		}
	}

	void report(String id, Throwable e) {
		failed.put(id, e);
		meter.failed.increment();
		tell(onFailure, id, e);
	}

	/* --- taking part --- */

	private synchronized void polls() {
		if (poller != null || closed || !shelf.shared() && passiveNanos == 0)
			return;
		poller = KeptFiber.platform("pico-durable-poll", this::poll);
		poller.start();
	}

	private void poll() {
		long beat = System.nanoTime();
		while (!closed) {
			LockSupport.parkNanos(pollNanos);
			try {
				if (shelf.shared() && System.nanoTime() - beat >= 0) {
					beat();
					beat = System.nanoTime() + ((Table) shelf).leaseMillis * 1_000_000 / 4;
				}
				told();
				due();
			} catch (Throwable e) {
				if (!closed)
					meter.storeFailures.increment();
				LockSupport.parkNanos(5 * pollNanos);
			}
		}
	}

	/**
	 * Renews the lease, drops threads that were fenced meanwhile, and finds out whether too many
	 * run here.
	 */
	private void beat() throws IOException {
		int n = running.size();
		Shelf.Workers w;
		try {
			w = writer.ask(s -> s.beat(n));
		} catch (FencedException e) {
			w = writer.ask(s -> s.beat(0));
		}
		workers = w;
		meter.takenOver.add(w.freed);
		long worker = writer.ask(Shelf::worker);
		for (DurableThread t : running.values())
			if (t.worker != worker && t.worker != 0)
				lost(t);
		long fair = (w.running + w.count - 1) / w.count;
		if (w.count > 1 && n > fair + fair / 4 + 1) {
			tooMany.set((int) (n - fair));
			modest = System.nanoTime() + 3 * ((Table) shelf).leaseMillis * 1_000_000;
		} else {
			tooMany.set(0);
		}
	}

	/** Returns true if this thread has to move to another worker. */
	boolean mayGo() {
		return tooMany.get() > 0 && tooMany.getAndDecrement() > 0;
	}

	/** Delivers messages from other processes to threads that run here. */
	private void told() throws IOException {
		for (Shelf.Claim c : writer.ask(Shelf::told)) {
			DurableThread t = running.get(c.id);
			if (t == null)
				continue;
			try {
				fetch(t, c.sent);
			} catch (RuntimeException | LinkageError e) {
				refused(t, e);
				continue;
			}
			Act a = Act.of(Act.Op.HEARD, c.id, null, t.worker);
			a.heard = t.heard();
			writer.add(a, x -> {});
		}
	}

	/**
	 * Fails a thread as if it were resumed now: a message to it cannot be read, and the next one
	 * must not come before it.
	 */
	private void refused(DurableThread t, Throwable e) {
		if (t.drop())
			fail(t.id, t.worker, e);
		gone(t);
	}

	private void due() throws IOException {
		for (int room = room(); room > 0; room = room()) {
			int n = Math.min(room, CHUNK);
			List<Shelf.Claim> cs = writer.ask(s -> s.claim(until(), n, false));
			long worker = writer.ask(Shelf::worker);
			for (Shelf.Claim c : cs)
				resume(c, worker);
			if (cs.size() < n || workers.count > 1)
				return;
		}
	}

	/**
	 * Returns how many threads may be taken: without other workers as many as fit in memory, with
	 * others not many more than the mean.
	 */
	private int room() {
		int n = running.size();
		Shelf.Workers w = workers;
		if (w.count < 2)
			return most - n;
		if (System.nanoTime() - modest < 0)
			return 0;
		long fair = w.running / w.count;
		return (int) Math.min(most - n, Math.max(1, fair + fair / 4 + 16 - n));
	}

	/** Drops a thread that another worker owns: what it does from now on is not stored. */
	void lost(DurableThread t) {
		if (t.drop())
			meter.fenced.increment();
		gone(t);
	}

	void saved(String id, long number, int bytes, boolean commit) {
		seen.saw(id, number);
		meter.saves.increment();
		meter.bytes.add(bytes);
		if (commit)
			meter.commits.increment();
	}

	/** Called on the carrier. */
	void ended(DurableThread t, Throwable e) {
		if (writer.closed() || t.isGone())
			return;
		if (e != null) {
			fail(t.id, t.worker, e);
			gone(t);
			return;
		}
		meter.ended.increment();
		late(t.last(), x -> {
			if (x != null && !(x instanceof FencedException))
				report(t.id, x);
			else
				seen.ended(t.id);
			gone(t);
		});
	}

	void gone(DurableThread t) {
		lock.lock();
		try {
			running.remove(t.id, t);
			unsaved.remove(t.id);
			gone.signalAll();
		} finally {
			lock.unlock();
		}
	}

	/* --- looking --- */

	/**
	 * Waits until no thread runs here and, if threads leave the memory or the store is shared, the
	 * store holds only failed ones. Returns false if that is not so within that time.
	 */
	public boolean awaitAll(long millis) {
		return await(null, millis);
	}

	/**
	 * Waits until one thread has ended or failed. Returns false if it does not within that time.
	 */
	public boolean await(String id, long millis) {
		outside();
		try {
			return (Boolean) Blocking.call(() -> {
				long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
				while (isThere(id)) {
					long left = end - System.nanoTime();
					if (left <= 0)
						return false;
					lock.lock();
					try {
						if (id == null ? !running.isEmpty() : running.containsKey(id))
							gone.awaitNanos(Math.min(left, 1_000_000_000));
						else
							gone.awaitNanos(Math.min(left, pollNanos));
					} finally {
						lock.unlock();
					}
				}
				return true;
			});
		} catch (RuntimeException e) {
			throw e;
		} catch (Exception e) {
			throw new DurableException(e.toString(), e);
		}
	}

	private boolean isThere(String id) throws IOException {
		if (id == null ? !running.isEmpty() : running.containsKey(id))
			return true;
		if (!shelf.shared() && passiveNanos == 0)
			return false;
		if (id == null)
			return writer.ask(Shelf::alive);
		return !failed.containsKey(id) && writer.ask(s -> s.get(THREAD + id)) != null;
	}

	/** Returns the threads in this process's memory. */
	public List<String> running() {
		return new ArrayList<>(new java.util.TreeSet<>(running.keySet()));
	}

	/** Returns why threads failed or were refused. */
	public Map<String, Throwable> failed() {
		return new TreeMap<>(failed);
	}

	/**
	 * Returns at most {@code most} threads of the store in the order of their ids, beginning after
	 * that id; "" is before all.
	 */
	public List<Status> list(String after, int most) throws IOException {
		List<Status> l = new ArrayList<>();
		for (Shelf.Row r : writer.ask(s -> s.rows(after, most)))
			l.add(new Status(r, seal));
		return l;
	}

	/**
	 * Returns the state of a thread of this store: it runs, waits, has failed (and why), or has
	 * ended (and when). Returns null if there was no thread of this id, or it was removed or
	 * forgotten.
	 */
	public Status status(String id) throws IOException {
		return writer.ask(s -> Status.of(s, id, seal));
	}

	/**
	 * Asks a thread of this store something without waking it. {@code question} gets a copy of the
	 * object that the thread exposes (Durable.expose), as it was last stored. Returns null if it
	 * exposes nothing.
	 */
	@SuppressWarnings("unchecked")
	public <T, R> R query(String id, Function<T, R> question) throws IOException {
		Parked p = look(id);
		return p.exposed == null ? null : question.apply((T) p.exposed);
	}

	/**
	 * Returns a copy of a thread of this store as it was last stored, with the wait that it is in.
	 */
	public Parked look(String id) throws IOException {
		byte[] record = writer.ask(s -> s.get(THREAD + id));
		if (record == null)
			throw Alone.none(id);
		return Parked.of(id, seal.open(THREAD + id, record), codec);
	}

	/**
	 * Lets a thread that has failed or was refused be tried again by a worker that takes part (see
	 * resume).
	 */
	public void retry(String id) {
		store(then -> writer.add(new Act(Act.Op.WAKE, id), then));
		failed.remove(id);
	}

	/**
	 * Removes the messages to a thread that no key here opens, because somebody with another key
	 * sent them, and returns how many. A thread that was refused because of them may then be
	 * retried.
	 */
	public int discard(String id) throws IOException {
		List<Act> acts = new ArrayList<>();
		for (long n : writer.ask(s -> Inspector.unreadable(s, seal, id)).keySet())
			acts.add(Act.put(message(id, n), null));
		store(then -> writer.add(acts, then));
		return acts.size();
	}

	/**
	 * Returns counts by name. They are since this vault was made, except running and workers, which
	 * are of this moment.
	 */
	public Map<String, Long> metrics() {
		Map<String, Long> m = meter.all();
		m.put("running", (long) running.size());
		m.put("workers", (long) workers.count);
		m.put("batches", writer.batches);
		return m;
	}

	/**
	 * Seals again, with the key in use, the records that an older key has sealed, except those that
	 * another worker owns (which calls this itself). Returns how many records were not sealed:
	 * those, the ones that no key here opens, and the ones that changed meanwhile. 0 means that the
	 * older keys can be retired.
	 */
	public int reseal() throws IOException {
		int left = 0;
		for (String k : writer.ask(Shelf::keys)) {
			byte[] b = writer.ask(s -> s.get(k));
			if (b == null || seal.isCurrent(b))
				continue;
			if (!seal.opens(k, b)) {
				left++;
				continue;
			}
			Act a = new Act(Act.Op.RESEAL, k);
			a.resealer = old -> seal.isCurrent(old) ? null : seal.again(k, old);
			store(then -> writer.add(a, then));
			if (a.value == null)
				left++;
		}
		return left;
	}

	/**
	 * Stores what is under way. A thread that still runs stops at its next commit. It goes on, from
	 * what is stored, in the next vault or at another worker.
	 */
	@Override
	public void close() throws IOException {
		outside();
		closed = true;
		try {
			Thread p;
			synchronized (this) {
				p = poller;
			}
			if (p != null && p != Thread.currentThread()) {
				LockSupport.unpark(p);
				p.join(10_000);
			}
			writer.close();
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		}
		writer.ask(s -> {
			s.close();
			return null;
		});
		seen.close();
	}
}
