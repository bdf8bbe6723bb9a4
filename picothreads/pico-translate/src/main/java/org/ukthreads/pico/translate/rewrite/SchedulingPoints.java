// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.FieldVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.VarInsnNode;

/*
 * Where a simulation may let another thread go on: a call of Points.point before each act that
 * other threads can see, and after each that may let them go on.
 *
 *   monitorenter, synchronized      before                             LOCK
 *   monitorexit, their end          after, outside of what it covers   UNLOCK
 *   java.util.concurrent            before; after what releases        LOCK, UNLOCK, ATOMIC..
 *   volatile fields, VarHandle      before                             VOLATILE, ATOMIC
 *   Thread.start, interrupt..       before; after start                THREAD
 *   wait, notify, park, unpark      before; after notify, unpark       WAIT
 *   Vector, Map.. that may be shared  before                           SHARED
 *   with FIELDS: all other fields that can change, array elements      FIELD
 *
 * Between two points no other thread of the simulation runs, so the code between them is atomic.
 * That is right for programs without data races; FIELDS is for the others.
 *
 * A collection in a variable of an interface type counts as shared if the program makes any
 * concurrent or synchronized collection. A synchronized method becomes a block, because the point
 * belongs before the lock. There are no points in static initialisers (they pin), before super(...)
 * in a constructor, and in methods that the JDK calls by reflection. There are none for fields in
 * constructors (no other thread knows the object).
 *
 * Runs before the rules are applied, because it looks for the JDK's names. The call graph finds
 * out that the added calls suspend.
 */
public final class SchedulingPoints {
	/** Which acts are points. */
	public enum Level { NONE, SYNC, FIELDS }

	/* As in org.ukthreads.pico.Points, which this module does not link with. */
	private static final int LOCK = 0, UNLOCK = 1, ATOMIC = 2, VOLATILE = 3, THREAD = 4,
		WAIT = 5, SHARED = 6, FIELD = 7, NO = -1;

	private static final Set<String> REFLECTED = Set.of("values", "$values", "valueOf",
		"readObject", "writeObject", "readResolve", "writeReplace", "finalize",
		"readExternal", "writeExternal", "readObjectNoData");
	private static final Set<String> LOCKED = Set.of("java/util/Vector", "java/util/Stack",
		"java/util/Hashtable", "java/util/Properties", "java/lang/StringBuffer",
		"java/util/Timer");
	private static final Set<String> COLLECTIONS = Set.of("java/util/Map", "java/util/List",
		"java/util/Set", "java/util/Collection", "java/util/Queue", "java/util/Deque",
		"java/util/SortedMap", "java/util/NavigableMap", "java/util/SortedSet",
		"java/util/NavigableSet", "java/util/Iterator");
	private static final Set<String> OF_THREADS = Set.of("start", "join", "interrupt",
		"isInterrupted", "interrupted", "isAlive", "getState", "startVirtualThread");
	private static final Set<String> OF_OBJECTS = Set.of("wait", "notify", "notifyAll");
	private static final Set<String> RELEASES = Set.of("unlock", "unlockRead", "unlockWrite",
		"notify", "notifyAll", "signal", "signalAll", "start", "startVirtualThread", "unpark",
		"release", "countDown", "execute", "submit");
	/** Classes of java.util.concurrent that threads do not share. */
	private static final Set<String> PRIVATE = Set.of("TimeUnit", "ThreadLocalRandom",
		"Executors", "Callable");

	private final Level level;
	/** Class to its superclass, for fields that are named by a subclass. */
	private final Map<String, String> supers = new HashMap<>();
	private final Map<String, Integer> fields = new HashMap<>();
	private boolean shares;

	public SchedulingPoints(Level level) {
		this.level = level;
	}

	/** Reads a class of the program; all are read before the first insert. */
	public void learn(byte[] file) {
		if (level == Level.NONE)
			return;
		ClassReader r = new ClassReader(file);
		supers.put(r.getClassName(), r.getSuperName());
		String text = new String(file, StandardCharsets.ISO_8859_1);
		shares |= text.contains("java/util/concurrent/Concurrent")
			|| text.contains("java/util/concurrent/CopyOnWrite")
			|| text.contains("BlockingQueue") || text.contains("BlockingDeque")
			|| text.contains("java/util/Collections") && text.contains("synchronized");
		r.accept(new ClassVisitor(Opcodes.ASM9) {
			@Override
			public FieldVisitor visitField(int access, String name, String desc, String sig,
					Object value) {
				fields.put(r.getClassName() + '.' + name + desc, access);
				return null;
			}
		}, ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
	}

	/** Puts points into the class; true if there are any. */
	public boolean insert(ClassNode c) {
		if (level == Level.NONE)
			return false;
		boolean any = false;
		for (MethodNode m : c.methods)
			if (m.instructions.size() > 0 && !m.name.equals("<clinit>")
					&& !REFLECTED.contains(m.name))
				any |= insert(c, m);
		return any;
	}

	private boolean insert(ClassNode c, MethodNode m) {
		boolean any = false;
		AbstractInsnNode from = m.name.equals("<init>") ? superCall(c, m) : null;
		boolean on = !m.name.equals("<init>");
		if ((m.access & Opcodes.ACC_SYNCHRONIZED) != 0) {
			toBlock(c, m);
			any = true;
		}
		for (AbstractInsnNode i : m.instructions.toArray()) {
			if (!on) {
				on = i == from;
				continue;
			}
			any |= insert(m, i);
		}
		if (any)
			m.maxStack += 1;
		return any;
	}

	private boolean insert(MethodNode m, AbstractInsnNode i) {
		int kind = kind(m, i);
		if (kind == NO)
			return false;
		if (kind == UNLOCK && i.getOpcode() == Opcodes.MONITOREXIT) {
			AbstractInsnNode at = behind(i);
			if (at == null)
				return false;
			m.instructions.insertBefore(at, point(UNLOCK));
			return true;
		}
		m.instructions.insertBefore(i, point(kind));
		if (i instanceof MethodInsnNode && RELEASES.contains(((MethodInsnNode) i).name))
			m.instructions.insert(i, point(kind == LOCK ? UNLOCK : kind));
		return true;
	}

	/** A call of Points.point, which leaves the stack as it is. */
	private static InsnList point(int kind) {
		InsnList l = new InsnList();
		l.add(MethodRewriter.constant(kind));
		l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, "org/ukthreads/pico/Points", "point",
			"(I)V", false));
		return l;
	}

	/**
	 * The instruction after a monitorexit and after what handlers cover. Null: an exception leaves
	 * the block, and its handler comes soon enough.
	 */
	private static AbstractInsnNode behind(AbstractInsnNode exit) {
		AbstractInsnNode i = exit.getNext();
		while (i != null && i.getOpcode() < 0)
			i = i.getNext();
		if (i == null || i.getOpcode() == Opcodes.ATHROW)
			return null;
		AbstractInsnNode n = i.getNext();
		while (n != null && n.getOpcode() < 0)
			n = n.getNext();
		boolean thrown = i.getOpcode() == Opcodes.ALOAD && n != null
			&& n.getOpcode() == Opcodes.ATHROW;
		return thrown ? null : i;
	}

	private int kind(MethodNode m, AbstractInsnNode i) {
		int op = i.getOpcode();
		if (op == Opcodes.MONITORENTER)
			return LOCK;
		if (op == Opcodes.MONITOREXIT)
			return UNLOCK;
		if (i instanceof FieldInsnNode)
			return field(m, (FieldInsnNode) i);
		if (i instanceof MethodInsnNode)
			return call((MethodInsnNode) i);
		boolean element = op >= Opcodes.IALOAD && op <= Opcodes.SALOAD
			|| op >= Opcodes.IASTORE && op <= Opcodes.SASTORE;
		return element && level == Level.FIELDS && !m.name.equals("<init>") ? FIELD : NO;
	}

	private int field(MethodNode m, FieldInsnNode f) {
		int access = access(f);
		if ((access & Opcodes.ACC_FINAL) != 0 || m.name.equals("<init>"))
			return NO;
		if ((access & Opcodes.ACC_VOLATILE) != 0)
			return VOLATILE;
		return level == Level.FIELDS ? FIELD : NO;
	}

	/** The access of a field; one that is not the program's counts as final. */
	private int access(FieldInsnNode f) {
		for (String c = f.owner; c != null; c = supers.get(c)) {
			Integer a = fields.get(c + '.' + f.name + f.desc);
			if (a != null)
				return a;
		}
		return Opcodes.ACC_FINAL;
	}

	private int call(MethodInsnNode m) {
		String o = m.owner;
		if (m.name.equals("<init>"))
			return NO;
		if (o.startsWith("java/util/concurrent/"))
			return concurrent(o.substring("java/util/concurrent/".length()), m.name);
		if (o.equals("java/lang/invoke/VarHandle") || o.endsWith("misc/Unsafe"))
			return ATOMIC;
		if (LOCKED.contains(o))
			return LOCK;
		if (COLLECTIONS.contains(o))
			return shares || level == Level.FIELDS ? SHARED : NO;
		if (OF_OBJECTS.contains(m.name) && (m.desc.equals("()V") || m.desc.equals("(J)V")
				|| m.desc.equals("(JI)V")))
			return WAIT;
		/* Subclasses of Thread, too: by name, unless the program declares such a method. */
		return OF_THREADS.contains(m.name) && isThread(o) ? THREAD : NO;
	}

	private boolean isThread(String c) {
		while (supers.containsKey(c))
			c = supers.get(c);
		return c.equals("java/lang/Thread") || c.equals("java/lang/Thread$Builder");
	}

	private static int concurrent(String name, String method) {
		int slash = name.indexOf('/');
		String pack = slash < 0 ? "" : name.substring(0, slash);
		if (pack.equals("atomic"))
			return ATOMIC;
		if (name.equals("locks/LockSupport"))
			return WAIT;
		if (pack.equals("locks"))
			return method.startsWith("await") || method.startsWith("signal") ? WAIT : LOCK;
		if (PRIVATE.contains(name) || name.endsWith("Exception"))
			return NO;
		return SHARED;
	}

	/** The call of super(...) or this(...) in a constructor as compilers write it. */
	private static AbstractInsnNode superCall(ClassNode c, MethodNode m) {
		int made = 0;
		for (AbstractInsnNode i : m.instructions) {
			if (i.getOpcode() == Opcodes.NEW)
				made++;
			if (i.getOpcode() == Opcodes.INVOKESPECIAL
					&& ((MethodInsnNode) i).name.equals("<init>") && made-- == 0)
				return i;
		}
		return null;
	}

	/* --- synchronized m() { body }  as  synchronized (lock) { body } --- */

	private static void toBlock(ClassNode c, MethodNode m) {
		m.access &= ~Opcodes.ACC_SYNCHRONIZED;
		boolean isStatic = (m.access & Opcodes.ACC_STATIC) != 0;
		int lock = m.maxLocals++;
		LabelNode first = new LabelNode();
		LabelNode handler = new LabelNode();
		LabelNode start = first;
		for (AbstractInsnNode i : m.instructions.toArray()) {
			int op = i.getOpcode();
			if (op < Opcodes.IRETURN || op > Opcodes.RETURN)
				continue;
			LabelNode off = new LabelNode();
			LabelNode on = new LabelNode();
			InsnList l = new InsnList();
			l.add(off);
			l.add(new VarInsnNode(Opcodes.ALOAD, lock));
			l.add(new InsnNode(Opcodes.MONITOREXIT));
			m.instructions.insertBefore(i, l);
			m.instructions.insert(i, on);
			m.tryCatchBlocks.add(new TryCatchBlockNode(start, off, handler, null));
			start = on;
		}
		LabelNode last = new LabelNode();
		InsnList end = new InsnList();
		end.add(last);
		end.add(handler);
		end.add(new VarInsnNode(Opcodes.ALOAD, lock));
		end.add(new InsnNode(Opcodes.MONITOREXIT));
		end.add(new InsnNode(Opcodes.ATHROW));
		m.instructions.add(end);
		m.tryCatchBlocks.add(new TryCatchBlockNode(start, last, handler, null));
		InsnList l = new InsnList();
		lock(c, isStatic, l);
		l.add(new InsnNode(Opcodes.DUP));
		l.add(new VarInsnNode(Opcodes.ASTORE, lock));
		l.add(new InsnNode(Opcodes.MONITORENTER));
		l.add(first);
		m.instructions.insert(l);
		m.tryCatchBlocks.removeIf(b -> isEmpty(b));
		m.maxStack += 2;
	}

	/** True if no instruction is between its labels, because the last return ends the method. */
	private static boolean isEmpty(TryCatchBlockNode b) {
		for (AbstractInsnNode i = b.start; i != b.end; i = i.getNext())
			if (i == null || i.getOpcode() >= 0)
				return i == null;
		return true;
	}

	private static void lock(ClassNode c, boolean isStatic, InsnList l) {
		if (!isStatic) {
			l.add(new VarInsnNode(Opcodes.ALOAD, 0));
		} else if ((c.version & 0xffff) >= Opcodes.V1_5) {
			l.add(new LdcInsnNode(Type.getObjectType(c.name)));
		} else {
			l.add(new LdcInsnNode(c.name.replace('/', '.')));
			l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, "java/lang/Class", "forName",
				"(Ljava/lang/String;)Ljava/lang/Class;", false));
		}
	}
}
