package org.ukthreads.pico.durable;

import java.io.Closeable;
import java.io.IOException;
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
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.ukthreads.pico.Blocking;
import org.ukthreads.pico.Freezer;
import org.ukthreads.pico.KeptFiber;
import org.ukthreads.pico.PicoRuntime;

/*
 * Threads that are kept in a store.
 *
 *   start --> stored, runs --+-- commit, long sleep, receive --> stored again
 *                            +-- any other wait, when it lasts --> stored again, or told
 *                            +-- ends --> removed
 *                            +-- throws --> stays as last stored, failed
 *   open  --> what the store holds; resume() --> all of it runs on
 *
 * Keys: t/<id> is a thread, m/<id>/<number> a message that it has not taken for good.
 */
public final class Vault implements Closeable {
	static final String THREAD = "t/";
	static final String MESSAGE = "m/";

	final PicoRuntime runtime;
	final Codec codec;
	final Seal seal;
	final Writer writer;
	private final Store store;
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
	private final Map<String, String> unsaved = new ConcurrentHashMap<>();
	private volatile boolean closed;
	volatile long sleepNanos = 1_000_000_000;

	public Vault(Store store, Seal seal, Codec codec) {
		this(store, seal, codec, PicoRuntime.main());
	}

	public Vault(Store store, Seal seal, Codec codec, PicoRuntime runtime) {
		this.store = store;
		this.seal = seal;
		this.codec = codec;
		this.runtime = runtime;
		writer = new Writer(store);
		KeptFiber.platform("pico-durable-watch", this::watch).start();
	}

	/** Looks for threads that wait for long. */
	private void watch() {
		while (!closed) {
			LockSupport.parkNanos(Math.max(5_000_000, sleepNanos / 4));
			for (DurableThread t : running.values())
				if (!closed)
					t.keep(sleepNanos);
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

	/** The last such call of each thread. */
	public Map<String, String> unsaved() {
		return new TreeMap<>(unsaved);
	}

	void unsaved(String id, String where, Throwable why) {
		String s = "waits in " + where + ", and cannot be stored there: "
			+ (why instanceof DurableException ? why.getMessage() : why) + ". A crash takes it back to where it was last stored";
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
	private static long number(String key) {
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
			List<Store.Change> record = Collections.singletonList(
				new Store.Change(THREAD + id, t.record(task)));
			store(then -> writer.add(record, THREAD + id, then));
		} catch (RuntimeException | Error e) {
			running.remove(id);
			throw e;
		}
		t.go();
	}

	/**
	 * Removes what the store holds of a thread that does not run: one that has failed or was
	 * refused, and the messages to it.
	 */
	public void remove(String id) throws IOException {
		if (running.containsKey(id))
			throw new DurableException("the thread " + id + " is running");
		List<Store.Change> cs = new ArrayList<>();
		cs.add(new Store.Change(THREAD + id, null));
		for (String k : writer.keys())
			if (k.startsWith(message(id, "")) && number(k) > 0)
				cs.add(new Store.Change(k, null));
		store(then -> writer.add(cs, then));
		failed.remove(id);
	}

	/** Sends a message to a thread of this vault; stored when this returns. */
	public void send(String id, Object value) {
		DurableThread t = running.get(id);
		if (t == null)
			throw new DurableException("no thread " + id + " is running");
		byte[] v = codec.value(value);
		/* The receiver gets its own copy, as it would after a restart. */
		Object copy = codec.value(new Bytes(v, 0));
		store(then -> t.post(v, copy, then));
	}

	/** How: gives changes to the writer, with what is to be told of the outcome. */
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

	/**
	 * Resumes what the store holds and does not run yet.
	 *
	 * @return the threads that run now. The others, such as those whose code has
	 *     changed, stay in the store as they are, are told to onFailure, and are in
	 *     failed()
	 */
	public List<String> resume() throws IOException {
		List<String> ids = new ArrayList<>();
		Map<String, TreeMap<Long, String>> messages = new TreeMap<>();
		for (String k : writer.keys()) {
			if (k.startsWith(THREAD))
				ids.add(k.substring(THREAD.length()));
			else if (k.startsWith(MESSAGE) && number(k) > 0)
				messages.computeIfAbsent(k.substring(MESSAGE.length(), k.lastIndexOf('/')),
					x -> new TreeMap<>()).put(number(k), k);
		}
		Collections.sort(ids);
		List<String> ok = new ArrayList<>();
		for (String id : ids) {
			TreeMap<Long, String> m = messages.remove(id);
			try {
				if (!running.containsKey(id) && resume(id, m != null ? m : new TreeMap<>()))
					ok.add(id);
			} catch (Throwable e) {
				/* Errors, too (a class that is gone): the others must go on. */
				report(id, e);
			}
		}
		messages.keySet().removeAll(running.keySet());
		for (TreeMap<Long, String> m : messages.values())
			remove(m);
		return ok;
	}

	/** False: it has ended meanwhile, or runs. */
	private boolean resume(String id, TreeMap<Long, String> messages) throws IOException {
		byte[] record = writer.get(THREAD + id);
		if (record == null)
			return false;
		DurableThread t = DurableThread.read(this, id, record);
		boolean ok = false;
		try {
			for (Map.Entry<Long, String> m : messages.tailMap(t.taken(), false).entrySet()) {
				Bytes b = seal.open(m.getValue(), writer.get(m.getValue()));
				b.get();
				t.stored(m.getKey(), codec.value(new Bytes(
					Arrays.copyOfRange(b.b, b.n, b.b.length), 0)));
			}
			ok = running.putIfAbsent(id, t) == null;
		} finally {
			if (!ok)
				Freezer.drop(t);
		}
		if (!ok)
			return false;
		failed.remove(id);
		remove(messages.headMap(t.taken(), true));
		t.go();
		return true;
	}

	/** Messages that were taken by who has ended, or before a crash came in between. */
	private void remove(Map<Long, String> messages) {
		List<Store.Change> cs = new ArrayList<>();
		messages.values().forEach(k -> cs.add(new Store.Change(k, null)));
		if (!cs.isEmpty())
			writer.add(cs, x -> {});
	}

	void report(String id, Throwable e) {
		failed.put(id, e);
		tell(onFailure, id, e);
	}

	/** On the carrier. */
	void ended(DurableThread t, Throwable e) {
		if (writer.closed())
			return;
		if (e != null) {
			report(t.id, e);
			gone(t);
			return;
		}
		writer.add(t.last(), x -> {
			if (x != null)
				report(t.id, x);
			gone(t);
		});
	}

	private void gone(DurableThread t) {
		lock.lock();
		try {
			running.remove(t.id);
			unsaved.remove(t.id);
			gone.signalAll();
		} finally {
			lock.unlock();
		}
	}

	/** Waits until no thread runs, or so long; true: none does. */
	public boolean awaitAll(long millis) {
		return await(null, millis);
	}

	/** Waits for the end of one thread. */
	public boolean await(String id, long millis) {
		try {
			return (Boolean) Blocking.call(() -> {
				long left = TimeUnit.MILLISECONDS.toNanos(millis);
				lock.lock();
				try {
					while (id == null ? !running.isEmpty() : running.containsKey(id)) {
						if (left <= 0)
							return false;
						left = gone.awaitNanos(left);
					}
				} finally {
					lock.unlock();
				}
				return true;
			});
		} catch (RuntimeException e) {
			throw e;
		} catch (Exception e) {
			throw new DurableException(e.toString(), e);
		}
	}

	public List<String> running() {
		return new ArrayList<>(new java.util.TreeSet<>(running.keySet()));
	}

	/** Why a thread failed, or was refused. */
	public Map<String, Throwable> failed() {
		return new TreeMap<>(failed);
	}

	/**
	 * Stores what is under way. A thread that is left stops at its next commit, and goes
	 * on, from what is stored, in the next vault.
	 */
	@Override
	public void close() throws IOException {
		closed = true;
		try {
			writer.close();
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		}
		store.close();
	}
}
