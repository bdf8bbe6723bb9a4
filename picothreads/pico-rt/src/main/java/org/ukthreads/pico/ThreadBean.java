// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.management.JMX;
import javax.management.MBeanOperationInfo;
import javax.management.StandardMBean;
import javax.management.openmbean.ArrayType;
import javax.management.openmbean.CompositeData;
import javax.management.openmbean.CompositeDataSupport;
import javax.management.openmbean.CompositeType;
import javax.management.openmbean.OpenDataException;
import javax.management.openmbean.OpenType;
import javax.management.openmbean.SimpleType;

/*
 * The ThreadMXBean of translated code: pico threads, and the JVM's threads without those of the
 * runtime. Virtual threads are not in it, as in the JVM's own.
 *
 * It is a proxy with the interface of the JVM's bean (com.sun.management.ThreadMXBean, to which
 * programs cast it). A public method of this class replaces the one of the same name and
 * parameters; all others are the JVM's. The methods that newer Javas have are found in this way
 * although this class is Java 8.
 *
 * A ThreadInfo can only be made of a CompositeData. Its items differ from Java to Java, so they
 * are taken from the type that the JVM's bean has; an item that is not known here is 0 or null.
 *
 * A pico thread has no CPU time and no count of allocated bytes of its own. The calling thread
 * gets those of the OS thread that runs it: the difference of two values is right if it has not
 * waited in between. For others the value is -1, as for a thread that has ended. The times and
 * counts of blocking and waiting are -1, too.
 */
final class ThreadBean implements InvocationHandler {
	private static final ThreadMXBean JVMS = ManagementFactory.getThreadMXBean();
	static final ThreadMXBean BEAN = (ThreadMXBean) Proxy.newProxyInstance(
		ThreadBean.class.getClassLoader(), new Class<?>[] {type()}, new ThreadBean());
	private static final CompositeType INFO = infoType();
	private static final Map<String, Method> OURS = new HashMap<>();

	static {
		for (Method m : ThreadBean.class.getDeclaredMethods())
			if (Modifier.isPublic(m.getModifiers()))
				OURS.put(m.getName() + Arrays.toString(m.getParameterTypes()), m);
	}

	/** The highest peak that was told since the last reset. Under this. */
	private int peak;

	private ThreadBean() {}

	/** The interface of the bean. */
	static Class<? extends ThreadMXBean> type() {
		try {
			Class<?> k = Class.forName("com.sun.management.ThreadMXBean");
			if (k.isInstance(JVMS))
				return k.asSubclass(ThreadMXBean.class);
		} catch (ClassNotFoundException e) {
			/* The JVM has the standard interface alone. */
		}
		return ThreadMXBean.class;
	}

	@Override
	public Object invoke(Object proxy, Method m, Object[] args) throws Throwable {
		if (m.getDeclaringClass() == Object.class)
			return m.getName().equals("equals") ? (Object) (args[0] == proxy)
				: m.invoke(JVMS, args);
		Method ours = OURS.get(m.getName() + Arrays.toString(m.getParameterTypes()));
		try {
			return ours != null ? ours.invoke(this, args) : m.invoke(JVMS, args);
		} catch (InvocationTargetException e) {
			throw e.getCause();
		}
	}

	/* --- which threads there are --- */

	/** The JVM's threads by their ids, without those of the runtime. */
	private static Set<Long> jvmIds() {
		Set<Long> ids = new HashSet<>();
		for (long id : JVMS.getAllThreadIds())
			ids.add(id);
		/* They were there when the ids were read, or have ended since. */
		for (Thread t : jvmThreads())
			if (!RuntimeThread.isVisible(t))
				ids.remove(t.getId());
		return ids;
	}

	/** The JVM's threads that are in a group. */
	private static List<Thread> jvmThreads() {
		ThreadGroup g = Thread.currentThread().getThreadGroup();
		while (g.getParent() != null)
			g = g.getParent();
		Thread[] all = new Thread[g.activeCount() + 16];
		int n;
		while ((n = g.enumerate(all)) == all.length)
			all = new Thread[2 * n];
		return Arrays.asList(all).subList(0, n);
	}

	private static List<PicoThread> picos() {
		List<PicoThread> l = new ArrayList<>();
		for (PicoThread t : PicoThread.all())
			if (!t.virtual && t.alive())
				l.add(t);
		l.sort((p, q) -> Long.compare(p.getId(), q.getId()));
		return l;
	}

	public int getThreadCount() {
		return PicoThread.count() + jvmIds().size();
	}

	/** The JVM's threads are counted when this is called, because the JVM counts carriers, too. */
	public synchronized int getPeakThreadCount() {
		peak = Math.max(peak, PicoThread.peak() + jvmIds().size());
		return peak;
	}

	public synchronized void resetPeakThreadCount() {
		PicoThread.resetPeak();
		peak = 0;
		JVMS.resetPeakThreadCount();
	}

	public long getTotalStartedThreadCount() {
		long jvms = JVMS.getTotalStartedThreadCount();
		return PicoThread.started() + jvms - RuntimeThread.started();
	}

	public int getDaemonThreadCount() {
		int n = JVMS.getDaemonThreadCount();
		for (Thread t : jvmThreads())
			if (!RuntimeThread.isVisible(t) && t.isDaemon())
				n--;
		for (PicoThread t : picos())
			if (t.isDaemon())
				n++;
		return n;
	}

	public long[] getAllThreadIds() {
		List<Long> ids = new ArrayList<>(jvmIds());
		for (PicoThread t : picos())
			ids.add(t.getId());
		return array(ids);
	}

	private static long[] array(Collection<Long> ids) {
		return ids.stream().mapToLong(Long::longValue).toArray();
	}

	/* --- what they do --- */

	public ThreadInfo getThreadInfo(long id) {
		return getThreadInfo(id, 0);
	}

	public ThreadInfo getThreadInfo(long id, int depth) {
		return getThreadInfo(new long[] {id}, depth)[0];
	}

	public ThreadInfo[] getThreadInfo(long[] ids) {
		return getThreadInfo(ids, 0);
	}

	public ThreadInfo[] getThreadInfo(long[] ids, int depth) {
		return infos(ids, false, false, depth);
	}

	public ThreadInfo[] getThreadInfo(long[] ids, boolean monitors, boolean locks) {
		return infos(ids, monitors, locks, Integer.MAX_VALUE);
	}

	public ThreadInfo[] getThreadInfo(long[] ids, boolean monitors, boolean locks, int depth) {
		return infos(ids, monitors, locks, depth);
	}

	public ThreadInfo[] dumpAllThreads(boolean monitors, boolean locks) {
		return dumpAllThreads(monitors, locks, Integer.MAX_VALUE);
	}

	/** A thread that ends meanwhile is left out. */
	public ThreadInfo[] dumpAllThreads(boolean monitors, boolean locks, int depth) {
		List<ThreadInfo> l = new ArrayList<>();
		for (ThreadInfo i : infos(getAllThreadIds(), monitors, locks, depth))
			if (i != null)
				l.add(i);
		return l.toArray(new ThreadInfo[0]);
	}

	private static ThreadInfo[] infos(long[] ids, boolean monitors, boolean locks, int depth) {
		if (depth < 0)
			throw new IllegalArgumentException("Invalid maxDepth parameter: " + depth);
		for (long id : ids)
			if (id <= 0)
				throw new IllegalArgumentException("Invalid thread ID parameter: " + id);
		Map<Long, PicoThread> picos = find(ids);
		ThreadInfo[] all = jvms(ids, picos, monitors, locks, depth);
		if (picos.isEmpty())
			return all;
		Map<Fiber, List<Object>> held = monitors ? Monitors.held(null) : Collections.emptyMap();
		Map<Fiber, List<Object>> owned = locks ? Observed.locks(PicoThread.all())
			: Collections.emptyMap();
		for (int k = 0; k < ids.length; k++) {
			PicoThread t = picos.get(ids[k]);
			if (t != null)
				all[k] = info(t, depth, Observed.monitors(held.get(t.fiber)),
					owned.getOrDefault(t.fiber, Collections.emptyList()));
		}
		return all;
	}

	private static Map<Long, PicoThread> find(long[] ids) {
		Set<Long> wanted = new HashSet<>();
		for (long id : ids)
			wanted.add(id);
		Map<Long, PicoThread> found = new HashMap<>();
		for (PicoThread t : PicoThread.all())
			if (!t.virtual && wanted.contains(t.getId()))
				found.put(t.getId(), t);
		return found;
	}

	/** The JVM's infos of its visible threads; null for all others. */
	private static ThreadInfo[] jvms(long[] ids, Map<Long, PicoThread> picos, boolean monitors,
			boolean locks, int depth) {
		ThreadInfo[] all = new ThreadInfo[ids.length];
		Set<Long> visible = picos.keySet().containsAll(boxed(ids)) ? Collections.emptySet()
			: jvmIds();
		long[] theirs = Arrays.stream(ids).filter(visible::contains).toArray();
		if (theirs.length == 0)
			return all;
		ThreadInfo[] is = monitors || locks ? jvms(theirs, monitors, locks, depth)
			: JVMS.getThreadInfo(theirs, depth);
		for (int k = 0, n = 0; k < ids.length; k++)
			if (visible.contains(ids[k]))
				all[k] = is[n++];
		return all;
	}

	private static List<Long> boxed(long[] ids) {
		List<Long> l = new ArrayList<>(ids.length);
		for (long id : ids)
			l.add(id);
		return l;
	}

	private static ThreadInfo[] jvms(long[] ids, boolean monitors, boolean locks, int depth) {
		if (depth == Integer.MAX_VALUE)
			return JVMS.getThreadInfo(ids, monitors, locks);
		try {
			/* Java 10 */
			return (ThreadInfo[]) ThreadMXBean.class.getMethod("getThreadInfo", long[].class,
				boolean.class, boolean.class, int.class).invoke(JVMS, ids, monitors, locks, depth);
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	/** Null: t has ended. */
	private static ThreadInfo info(PicoThread t, int depth, List<Object> monitors,
			List<Object> locks) {
		if (!t.alive())
			return null;
		Observed o = Observed.of(t);
		Map<String, Object> v = new HashMap<>();
		v.put("threadId", t.getId());
		v.put("threadName", t.getName());
		v.put("threadState", o.state.name());
		v.put("lockOwnerId", -1L);
		v.put("daemon", t.isDaemon());
		v.put("priority", t.getPriority());
		v.put("inNative", o.atDevice);
		if (o.on != null)
			awaited(v, o.on, o.type(), o.owner);
		else if (o.state == Thread.State.BLOCKED)
			awaitedInJvm(v, t.fiber);
		if (o.state == Thread.State.BLOCKED && !v.containsKey("lockInfo"))
			/* It has got the lock meanwhile. */
			v.put("threadState", Thread.State.RUNNABLE.name());
		v.put("stackTrace", stack(depth > 0 ? o.stack() : new StackTraceElement[0], depth));
		v.put("lockedMonitors", objects("lockedMonitors", monitors));
		v.put("lockedSynchronizers", objects("lockedSynchronizers", locks));
		CompositeData d = data(INFO, v);
		return t.alive() ? ThreadInfo.from(d) : null;
	}

	private static void awaited(Map<String, Object> v, Object on, String type, Fiber owner) {
		int hash = System.identityHashCode(on);
		v.put("lockName", type + '@' + Integer.toHexString(hash));
		v.put("lockInfo", data((CompositeType) INFO.getType("lockInfo"), object(type, hash)));
		if (owner == null)
			return;
		Thread by = owner.asThread();
		v.put("lockOwnerId", by.getId());
		v.put("lockOwnerName", by.getName());
	}

	/** f waits for a lock of the JVM on its OS thread. */
	private static void awaitedInJvm(Map<String, Object> v, Fiber f) {
		Thread os = f.rt.carrying(f);
		ThreadInfo i = os == null ? null : JVMS.getThreadInfo(os.getId());
		if (i == null || i.getLockInfo() == null)
			return;
		v.put("lockName", i.getLockName());
		v.put("lockInfo", data((CompositeType) INFO.getType("lockInfo"),
			object(i.getLockInfo().getClassName(), i.getLockInfo().getIdentityHashCode())));
		Thread by = seen(i.getLockOwnerId());
		if (by == null)
			return;
		v.put("lockOwnerId", by.getId());
		v.put("lockOwnerName", by.getName());
	}

	private static Map<String, Object> object(String type, int hash) {
		Map<String, Object> v = new HashMap<>();
		v.put("className", type);
		v.put("identityHashCode", hash);
		return v;
	}

	/** Where a monitor was entered is not known: the depth is -1. */
	private static CompositeData[] objects(String item, List<Object> l) {
		CompositeType type = element(item);
		CompositeData[] ds = new CompositeData[l.size()];
		for (int k = 0; k < ds.length; k++) {
			Object o = l.get(k);
			String name = item.equals("lockedMonitors") ? Instead.seen(o.getClass()).getName()
				: Observed.type(o);
			ds[k] = data(type, object(name, System.identityHashCode(o)));
		}
		return ds;
	}

	private static CompositeData[] stack(StackTraceElement[] st, int depth) {
		CompositeType type = element("stackTrace");
		CompositeData[] ds = new CompositeData[Math.min(st.length, depth)];
		for (int k = 0; k < ds.length; k++) {
			Map<String, Object> v = new HashMap<>();
			v.put("className", st[k].getClassName());
			v.put("methodName", st[k].getMethodName());
			v.put("fileName", st[k].getFileName());
			v.put("lineNumber", st[k].getLineNumber());
			v.put("nativeMethod", st[k].isNativeMethod());
			ds[k] = data(type, v);
		}
		return ds;
	}

	/* --- open data --- */

	private static CompositeType infoType() {
		StandardMBean b = new StandardMBean(JVMS, ThreadMXBean.class, true);
		for (MBeanOperationInfo o : b.getMBeanInfo().getOperations())
			if (o.getName().equals("getThreadInfo")) {
				Object t = o.getDescriptor().getFieldValue(JMX.OPEN_TYPE_FIELD);
				if (t instanceof CompositeType)
					return (CompositeType) t;
			}
		throw new IllegalStateException("no type of ThreadInfo");
	}

	private static CompositeType element(String item) {
		return (CompositeType) ((ArrayType<?>) INFO.getType(item)).getElementOpenType();
	}

	private static CompositeData data(CompositeType type, Map<String, Object> values) {
		Map<String, Object> all = new HashMap<>();
		for (String k : type.keySet())
			all.put(k, values.containsKey(k) ? values.get(k) : unknown(type.getType(k)));
		try {
			return new CompositeDataSupport(type, all);
		} catch (OpenDataException e) {
			throw new IllegalStateException(e);
		}
	}

	private static Object unknown(OpenType<?> t) {
		return t == SimpleType.BOOLEAN ? (Object) false : t == SimpleType.INTEGER ? (Object) (-1)
			: t == SimpleType.LONG ? (Object) (-1L) : null;
	}

	/* --- deadlocks --- */

	public long[] findDeadlockedThreads() {
		return deadlocked(JVMS.findDeadlockedThreads(), Deadlocks.LOCKS);
	}

	public long[] findMonitorDeadlockedThreads() {
		return deadlocked(JVMS.findMonitorDeadlockedThreads(), Deadlocks.MONITORS);
	}

	private static long[] deadlocked(long[] jvms, int kind) {
		Set<Long> ids = new LinkedHashSet<>();
		if (jvms != null)
			for (long id : jvms) {
				Thread t = seen(id);
				if (t != null)
					ids.add(t.getId());
			}
		List<Fiber> all = new ArrayList<>();
		for (PicoThread t : picos())
			all.add(t.fiber);
		for (List<Fiber> c : Deadlocks.among(all, kind))
			for (Fiber f : c)
				if (f.thread != null || f.isForeign())
					ids.add(f.asThread().getId());
		return ids.isEmpty() ? null : array(ids);
	}

	/** The thread of the program that a thread of the JVM runs or is; null: none. */
	private static Thread seen(long id) {
		for (Thread t : jvmThreads())
			if (t.getId() == id) {
				Fiber f = t instanceof CarrierThread ? ((CarrierThread) t).context.fiber : null;
				return f != null ? f.asThread() : RuntimeThread.isVisible(t) ? t : null;
			}
		return null;
	}

	/* --- time and memory --- */

	/**
	 * The ids with the calling pico thread's replaced by its OS thread's, and those of all other
	 * threads that the JVM does not know as the program's by one that no thread has.
	 */
	private static long[] measured(long[] ids) {
		Fiber me = Context.get().fiber;
		Set<Long> jvms = ids.length == 0 ? Collections.emptySet() : jvmIds();
		long[] os = new long[ids.length];
		for (int k = 0; k < ids.length; k++)
			os[k] = me != null && me.thread != null && ids[k] == me.thread.getId()
				? Thread.currentThread().getId()
				: ids[k] <= 0 || jvms.contains(ids[k]) ? ids[k] : Long.MAX_VALUE;
		return os;
	}

	public long getThreadCpuTime(long id) {
		return JVMS.getThreadCpuTime(measured(new long[] {id})[0]);
	}

	public long getThreadUserTime(long id) {
		return JVMS.getThreadUserTime(measured(new long[] {id})[0]);
	}

	public long[] getThreadCpuTime(long[] ids) {
		return (long[]) more("getThreadCpuTime", measured(ids));
	}

	public long[] getThreadUserTime(long[] ids) {
		return (long[]) more("getThreadUserTime", measured(ids));
	}

	public long getThreadAllocatedBytes(long id) {
		return ((long[]) more("getThreadAllocatedBytes", measured(new long[] {id})))[0];
	}

	public long[] getThreadAllocatedBytes(long[] ids) {
		return (long[]) more("getThreadAllocatedBytes", measured(ids));
	}

	/** A method of com.sun.management.ThreadMXBean, which not every JVM has. */
	private static Object more(String name, long[] ids) {
		try {
			return type().getMethod(name, long[].class).invoke(JVMS, ids);
		} catch (InvocationTargetException e) {
			Continuation.<RuntimeException>sneak(e.getCause());
			return null;
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}
}
