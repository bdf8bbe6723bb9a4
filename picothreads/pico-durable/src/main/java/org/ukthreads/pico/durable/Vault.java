// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
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
 *                            +-- any other wait, when it lasts --> stored again, or told
 *                            +-- waits for long (passiveAfter) --> leaves the memory
 *                            +-- ends --> removed
 *                            +-- throws --> stays as last stored, failed
 *   open  --> what the store holds; resume() --> all of it runs on, or what is due
 *   a thread of the store is due (time, message, its worker has died) --> it runs on here
 *
 * Keys: t/<id> is a thread, m/<id>/<number> a message that it has not taken for good.
 *
 * Three OS threads beside the runtime's: the writer (all changes, in batches), the watch
 * (who waits for long), and the poller (lease, what others sent, what is due).
 */
public final class Vault implements Closeable {
	static final String THREAD = "t/";
	static final String MESSAGE = "m/";
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
	/** How many are to go on elsewhere, at their next commit. */
	private final AtomicInteger tooMany = new AtomicInteger();
	/** Under this. */
	private Thread poller;
	private Thread watcher;
	/** Until then what is due is left to others: System.nanoTime. */
	private volatile long modest = System.nanoTime();
	private volatile Shelf.Workers workers = new Shelf.Workers();

	/**
	 * @throws DurableException the key is gone, and the store is not empty
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

	/** Looks for threads that wait for long. */
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

	/** It has left already. If the store fails, it is asked for as long as we live. */
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
			/* Closed: it is stored as what it was. */
		}
	}

	/**
	 * Thread.sleep of at least so many milliseconds is stored, and so is a thread that has
	 * waited in any other call for so long; 1,000 unless told.
	 */
	public Vault sleepsFrom(long millis) {
		sleepNanos = millis * 1_000_000;
		return this;
	}

	/**
	 * A thread that has been in a stored sleep or receive for so many milliseconds, and will
	 * be for as long again, leaves the memory; it comes back when it is due. Then resume()
	 * reads what is due, not all. 0: never, which is what a store of one process does unless
	 * told; a database: after 10,000.
	 */
	public Vault passiveAfter(long millis) {
		passiveNanos = millis * 1_000_000;
		LockSupport.unpark(watcher);
		return this;
	}

	/** How often the store is asked what is due, in milliseconds; 100 unless told. */
	public Vault pollEvery(long millis) {
		pollNanos = Math.max(1, millis) * 1_000_000;
		return this;
	}

	/** How many threads are in memory at most, but for those that start here; 10,000. */
	public Vault atMost(int threads) {
		most = threads;
		return this;
	}

	/**
	 * Told of threads that failed or could not be resumed; System.err unless told. What it
	 * throws is printed and changes nothing.
	 */
	public Vault onFailure(BiConsumer<String, Throwable> f) {
		onFailure = f;
		return this;
	}

	/**
	 * Told of threads that wait for long and cannot be stored there, with the call and the
	 * reason; System.err unless told. What it throws is printed and changes nothing.
	 */
	public Vault onUnsaved(BiConsumer<String, String> f) {
		onUnsaved = f;
		return this;
	}

	/**
	 * Told of threads that were killed before they were stored in any wait, and begin again
	 * in another release than the one that started them; System.err unless told.
	 */
	public Vault onRestart(BiConsumer<String, String> f) {
		onRestart = f;
		return this;
	}

	/** Asked for a new task when a thread's code has changed; see Migration. */
	public Vault onChanged(Migration m) {
		migration = m;
		return this;
	}

	/**
	 * Remembers in that file, too, which record of each thread was the last, so that an older
	 * one that somebody puts back is refused also after a restart (until then this vault
	 * refuses what is older than what it has itself stored or read). The file belongs where
	 * who can write the store cannot write; each worker has its own. Before resume().
	 */
	public Vault remember(Path file) throws IOException {
		seen.open(file);
		return this;
	}

	/** The last such call of each thread. */
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

	/** The program's code: what it throws must not end the thread that tells it. */
	private static <T> void tell(BiConsumer<String, T> to, String id, T what) {
		try {
			to.accept(id, what);
		} catch (Throwable e) {
			System.err.println("durable thread " + id + ": who is told of it throws " + e);
		}
	}

	static String message(String id, Object number) {
		return MESSAGE + id + '/' + number;
	}

	/** A message's; 0: it is none. */
	static long number(String key) {
		int at = key.lastIndexOf('/');
		try {
			return at < MESSAGE.length() ? 0 : Long.parseLong(key.substring(at + 1));
		} catch (NumberFormatException e) {
			return 0;
		}
	}

	/** A new thread; stored when this returns. The task must be Serializable. */
	public void start(String id, Runnable task) {
		DurableThread t = new DurableThread(this, id, task);
		if (running.putIfAbsent(id, t) != null)
			throw new DurableException("there is a thread " + id);
		try {
			Act a = Act.of(Act.Op.START, id, t.record(task), 0);
			store(then -> writer.add(a, then));
			t.worker = a.owner;
			seen.saw(id, 1);
		} catch (RuntimeException | Error e) {
			running.remove(id, t);
			throw e;
		}
		meter.started.increment();
		t.go();
		polls();
	}

	/**
	 * Removes what the store holds of a thread that no worker has: one that has failed, was
	 * refused, or is parked; and the messages to it.
	 */
	public void remove(String id) throws IOException {
		if (running.containsKey(id))
			throw Alone.running(id);
		store(then -> writer.add(new Act(Act.Op.REMOVE, id), then));
		seen.ended(id);
		failed.remove(id);
	}

	/** Sends a message to a thread of this store, wherever it is; stored when this returns. */
	public void send(String id, Object value) {
		/* The receiver gets its own copy, as it would after a restart. */
		byte[] v = codec.value(value);
		post(id, Header.MESSAGE, v, codec.value(new Bytes(v, 0)));
	}

	/**
	 * Ends a thread of this store in its own words: if it sleeps or waits, it gets an
	 * InterruptedException, if it receives, a CancelledException; its finally blocks run,
	 * and it may undo what it did. Stored when this returns, so no crash loses it.
	 */
	public void cancel(String id) {
		post(id, Header.CANCEL, new byte[0], DurableThread.CANCEL);
	}

	/** @param kind Header.MESSAGE or CANCEL, the first byte of it */
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
	 * A message that its receiver cannot open would keep it from ever being resumed: who holds
	 * another key than the store's finds out before the first one.
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

	/** The store's threads are sealed by a key of ours: one of them was looked at. */
	private volatile boolean isOurs;

	/** How: gives acts to the writer, with what is to be told of the outcome. */
	private void store(Consumer<Consumer<Throwable>> how) {
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
			throw new DurableException("cannot be", e);
		} catch (Exception e) {
			throw new DurableException(e.toString(), e);
		}
		if (bad[0] != null)
			throw (DurableException) bad[0];
	}

	/* --- resuming --- */

	/**
	 * Resumes what the store holds and nobody runs: all of it; or, where threads leave the
	 * memory (passiveAfter), what is due. From here on this vault takes part: it resumes
	 * what becomes due, and what workers had that have died. What has failed is tried again.
	 *
	 * @return the threads that run now. The others, such as those whose code has
	 *     changed, stay in the store as they are, are told to onFailure, and are in
	 *     failed()
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

	/** What is due by then is ours to resume. */
	private long until() {
		return passiveNanos > 0 ? runtime.clock().millis() : Long.MAX_VALUE;
	}

	/** False: it failed. It is ours. */
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
			/* It was ours before, and is about to leave (it was passive, or we were fenced); or
			 * somebody is about to be told that a thread of that id cannot be started. */
			DurableThread old = running.put(c.id, t);
			if (old != null && old.worker != 0)
				lost(old);
			failed.remove(c.id);
			t.go();
			meter.resumed.increment();
			return true;
		} catch (Throwable e) {
			/* Errors, too (a class that is gone): the others must go on. */
			if (t != null && running.get(c.id) != t)
				Freezer.drop(t);
			if (e instanceof Link.LostException)
				giveBack(c.id, worker);
			else
				fail(c.id, worker, e);
			return false;
		}
	}

	/** It could not be read: somebody is to look at it when the database is there again. */
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

	/** The program's answer to a change, or the change. */
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

	/** The messages that it has not. */
	private void fetch(DurableThread t, long sent) throws IOException {
		for (long n; (n = t.heard() + 1) <= sent;) {
			String key = message(t.id, n);
			byte[] b = writer.ask(s -> s.get(key));
			if (b == null) {
				/* Removed with one that had the same name; or not ours to know. */
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

	/** It stays in the store, as it is, and due no more. */
	private void fail(String id, long worker, Throwable e) {
		report(id, e);
		Act a = Act.of(Act.Op.FAILED, id, null, worker);
		String s = e.toString();
		a.why = s.substring(0, Math.min(990, s.length()));
		late(a, x -> {});
	}

	/** Of a thread that has ended: if the vault was closed meanwhile, the next one sees it. */
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

	/** Renews the lease; sees who was fenced meanwhile, and whether too many run here. */
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

	/** May this one go on elsewhere? */
	boolean mayGo() {
		return tooMany.get() > 0 && tooMany.getAndDecrement() > 0;
	}

	/** Messages from other processes to threads that run here. */
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

	/** As if it were resumed now: a message to it cannot be read, and the next must not be first. */
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

	/** How many may come: all, alone; among others not much more than their mean. */
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

	/** Another worker has it: what it does from here on is not stored. */
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

	/** On the carrier. */
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
	 * Waits until no thread runs here and, where threads leave the memory, none is left in
	 * the store but failed ones; or so long. True: so it is.
	 */
	public boolean awaitAll(long millis) {
		return await(null, millis);
	}

	/** Waits for the end of one thread. */
	public boolean await(String id, long millis) {
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

	/** Those in this process's memory. */
	public List<String> running() {
		return new ArrayList<>(new java.util.TreeSet<>(running.keySet()));
	}

	/** Why a thread failed, or was refused. */
	public Map<String, Throwable> failed() {
		return new TreeMap<>(failed);
	}

	/** Lines about the store's threads, in the order of their ids, after that one (or ""). */
	public List<Status> list(String after, int most) throws IOException {
		List<Status> l = new ArrayList<>();
		for (Shelf.Row r : writer.ask(s -> s.rows(after, most)))
			l.add(new Status(r, seal));
		return l;
	}

	/**
	 * Asks a thread of this store something, without waking it: what it exposes
	 * (Durable.expose), as it was last stored; a copy. Null: it exposes nothing.
	 */
	@SuppressWarnings("unchecked")
	public <T, R> R query(String id, Function<T, R> question) throws IOException {
		Parked p = look(id);
		return p.exposed == null ? null : question.apply((T) p.exposed);
	}

	/** A copy of a thread of this store, as it was last stored: where it waits, what for. */
	public Parked look(String id) throws IOException {
		byte[] record = writer.ask(s -> s.get(THREAD + id));
		if (record == null)
			throw Alone.none(id);
		return Parked.of(id, seal.open(THREAD + id, record), codec);
	}

	/**
	 * Lets a thread that has failed or was refused try again, at a worker that takes part
	 * (see resume).
	 */
	public void retry(String id) {
		store(then -> writer.add(new Act(Act.Op.WAKE, id), then));
		failed.remove(id);
	}

	/**
	 * Takes away the messages to a thread that no key here opens: of somebody with another key.
	 * Returns how many. A thread that was refused for them may then be told to retry.
	 */
	public int discard(String id) throws IOException {
		List<Act> acts = new ArrayList<>();
		for (long n : writer.ask(s -> Inspector.unreadable(s, seal, id)).keySet())
			acts.add(Act.put(message(id, n), null));
		store(then -> writer.add(acts, then));
		return acts.size();
	}

	/** Counts, by name: since this vault was made, but for running, parked and workers. */
	public Map<String, Long> metrics() {
		Map<String, Long> m = meter.all();
		m.put("running", (long) running.size());
		m.put("workers", (long) workers.count);
		m.put("batches", writer.batches);
		return m;
	}

	/**
	 * Seals again, by the key in use, what was sealed by an older one and is not another
	 * worker's (which calls this itself). Returns how many records were not: those, what no
	 * key here opens, and what changed meanwhile. 0 means that the older keys can be retired.
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
	 * Stores what is under way. A thread that is left stops at its next commit, and goes
	 * on, from what is stored, in the next vault, or at another worker.
	 */
	@Override
	public void close() throws IOException {
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
