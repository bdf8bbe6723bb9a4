// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.IincInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.IntInsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.LineNumberNode;
import org.objectweb.asm.tree.LocalVariableNode;
import org.objectweb.asm.tree.LookupSwitchInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TableSwitchInsnNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.VarInsnNode;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.tree.analysis.BasicValue;
import org.objectweb.asm.tree.analysis.Frame;
import org.ukthreads.pico.translate.analyse.CallGraph;
import org.ukthreads.pico.translate.analyse.Liveness;
import org.ukthreads.pico.translate.analyse.Twins;
import org.ukthreads.pico.translate.analyse.Types;
import org.ukthreads.pico.translate.read.Hierarchy;

/*
 * One method that may suspend.
 *
 * The body stays. Around each call that may suspend:
 *
 *        ... receiver, arguments        (live stack values below are kept in locals)
 *   C:   invoke foo
 *   D:   ...
 *   H:   [Capture]                      handler for C..D alone, first in the table
 *        dup, receiver|null, k          the receiver is for the check
 *        invokestatic Foo$$Pico.at
 *        live...                        the frame
 *        invokevirtual Pushes.push
 *        athrow
 *
 * Out of line, one copy of the body, entered at any of its sites:
 *
 *   static boolean foo(Continuation t, int pc, Frame f)
 *        switch (pc) { P0, P1, ... }
 *   Pk:  live locals from f, stack values; t.takeI(); goto D
 *        ...
 *   C:   invoke foo                     a new call in the copy: same handler, but it
 *   D:   ...                            returns false (to the trampoline) in place of
 *        ireturn => t.ret(int)          the throw: no unwinding on repeated suspension
 *
 * Inside a try range of the program the value is taken there, not in Pk, so that what foo
 * threw arrives in its handlers:
 *
 *   C:   invoke foo; goto D
 *   Rk:  t.takeI()
 *   D:   ...
 *
 *   static boolean pico$$resume(Continuation t, int at, Frame f)
 *        leads to the copies
 *
 * A call of a method that has a twin (see Twins and the runtime's Capture) goes to that;
 * the look joins the handler. In all three bodies, the method, its twin and the copy:
 *
 *        Capture c = Capture.mine()      (the twin: its argument)
 *   C:   invoke pico$foo$twin(..., c)
 *   D:   if (c.returned()) goto L
 *        ...
 *   L:   pop all; c.seen()
 *   H:   [Capture] push the frame, then
 *        method: athrow    twin: c.leave(); return anything    copy: return false
 *
 * The frame is the same whoever pushes it: snapshots do not know of twins. Where there is no
 * memory for it, push throws that; the program's ranges around the call cover the handler up
 * to there, so that the method's own catch and finally blocks run (see Pusher.failed).
 *
 * What cannot be reached from a resume point is cut out of the copy. One copy per method
 * and not one tail per site: tails share nothing, which made classes 2.3 to 4.3 times as
 * large; the price is that a loop of the copy may have two entries.
 */
final class MethodRewriter {
	static final String CAPTURE = "org/ukthreads/pico/Capture";
	static final String PUSHES = "org/ukthreads/pico/Pushes";
	private static final String TWINS = "org/ukthreads/pico/Twins";
	private static final String PINS = "org/ukthreads/pico/Pins";
	static final String CONT = "org/ukthreads/pico/Continuation";

	private final ClassRewriter owner;
	private final MethodNode m;
	private final Hierarchy hierarchy;
	private final CallGraph graph;
	private Frame<BasicValue>[] frames;
	private Liveness live;
	private int temps;
	private int maxTemp;
	/** Where the bodies keep the Capture that they call twins with. */
	private int captureLocal;

	MethodRewriter(ClassRewriter owner, MethodNode m) {
		this.owner = owner;
		this.m = m;
		this.hierarchy = owner.hierarchy;
		this.graph = owner.graph;
	}

	/** A value to keep: from a local, into a slot of the frame. */
	private static final class Saved {
		final int local;
		final Type type;
		/** i, j or a and the index: where in the frame. */
		char bank;
		int index;
		final String name;
		final String debugType;

		Saved(int local, Type type, String name, String debugType) {
			this.local = local;
			this.type = type;
			this.name = name;
			this.debugType = debugType;
		}
	}

	/** A call that may suspend. */
	private static final class Site {
		MethodInsnNode call;
		/** Local that holds the receiver at the call; -1: none needed. */
		int receiver = -1;
		final List<Saved> saved = new ArrayList<>();
		/** Locals known to hold null: restored as such. */
		final List<Integer> nulls = new ArrayList<>();
		/** The sizes of the values below the receiver, bottom first. */
		final List<Integer> sizes = new ArrayList<>();
		/** How to push the values below the arguments, bottom first. */
		final List<AbstractInsnNode> below = new ArrayList<>();
		Shape shape;
		int index;
		/** The call is the last thing the method does: no frame. */
		boolean tail;
		LabelNode resume;
		/** The program's try ranges around the call, in their order. */
		final List<TryCatchBlockNode> covered = new ArrayList<>();
		/** See values(). */
		private String values;
	}

	private final List<Site> sites = new ArrayList<>();
	private final List<AbstractInsnNode> pinned = new ArrayList<>();

	private List<Plan> plans;
	/** Copies to make of it. */
	private int parts;

	/** Looks where it may suspend; false: it cannot fit into a method's 64 KB. */
	boolean prepare() throws AnalyzerException {
		delayNews();
		analyse();
		plans = plan();
		Map<MethodInsnNode, Integer> calls = new HashMap<>();
		List<MethodInsnNode> entries = new ArrayList<>();
		for (Site s : sites) {
			calls.put(s.call, s.saved.size());
			entries.add(s.call);
		}
		Room room = new Room(m, calls);
		parts = owner.parts(m);
		if (!room.body())
			return false;
		boolean last = sites.stream().allMatch(this::isTail);
		while (!last && !room.copies(entries, step()))
			if ((parts = Large.more(parts)) == 0)
				return false;
		owner.parts(m, parts);
		return true;
	}

	/** Entries in each part. */
	private int step() {
		return Math.max(1, (sites.size() + parts - 1) / parts);
	}

	/** Splits the method, which is prepared; the result is what comes beside it. */
	List<MethodNode> rewrite(long hash) throws AnalyzerException {
		for (Plan p : plans)
			p.apply();
		captureLocal = Math.max(m.maxLocals, maxTemp);
		m.maxLocals = captureLocal + 1;
		List<MethodNode> made = new ArrayList<>();
		if (sites.isEmpty()) {
			if (owner.twins.has(owner.node, m))
				made.add(twin());
			pinCalls();
			return made;
		}
		cover();
		boolean last = sites.stream().allMatch(this::isTail);
		boolean tails = last && isGlue();
		String resumer = last ? null : owner.resumerName(m);
		owner.companion.method(m.name, m.desc, hash, resumer);
		if (tails) {
			for (Site s : sites)
				s.tail = true;
		}
		Map<AbstractInsnNode, Integer> lines = lines();
		for (Site s : sites)
			s.index = owner.companion.site(lines.get(s.call), kind(s.call), s.call.owner,
				s.call.name, s.call.desc, describe(s));
		if (!last)
			made.addAll(copies(resumer));
		if (owner.twins.has(owner.node, m))
			made.add(twin());
		ranges.clear();
		m.tryCatchBlocks.forEach(b -> ranges.put(b, b));
		handlers(m, Body.METHOD);
		pinCalls();
		if (owner.isEntered(m))
			m.instructions.insert(pins("entered"));
		return made;
	}

	/** One copy, or several and a method that chooses, where one would be too large. */
	private List<MethodNode> copies(String resumer) {
		if (Math.min(parts, sites.size()) <= 1)
			return List.of(copy(resumer, sites));
		List<MethodNode> made = new ArrayList<>();
		MethodNode choose = empty(resumer);
		made.add(choose);
		int step = step();
		LabelNode[] to = new LabelNode[sites.size()];
		InsnList l = new InsnList();
		for (int k = 0; k < sites.size(); k += step) {
			MethodNode part = copy("pico$" + resumer + "$" + k / step,
				sites.subList(k, Math.min(k + step, sites.size())));
			made.add(part);
			owner.resumes(part.name, m);
			LabelNode at = new LabelNode();
			java.util.Arrays.fill(to, k, Math.min(k + step, sites.size()), at);
			l.add(at);
			l.add(new VarInsnNode(Opcodes.ALOAD, 0));
			l.add(new VarInsnNode(Opcodes.ILOAD, 1));
			l.add(new InsnNode(Opcodes.I2C));
			l.add(constant(k));
			l.add(new InsnNode(Opcodes.ISUB));
			l.add(new VarInsnNode(Opcodes.ALOAD, 2));
			l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, owner.node.name, part.name,
				part.desc, (owner.node.access & Opcodes.ACC_INTERFACE) != 0));
			l.add(new InsnNode(Opcodes.IRETURN));
		}
		choose.instructions.add(new VarInsnNode(Opcodes.ILOAD, 1));
		choose.instructions.add(new InsnNode(Opcodes.I2C));
		choose.instructions.add(new TableSwitchInsnNode(0, to.length - 1, to[0], to));
		choose.instructions.add(l);
		choose.maxLocals = 3;
		choose.maxStack = 3;
		return made;
	}

	private MethodNode empty(String name) {
		boolean itf = (owner.node.access & Opcodes.ACC_INTERFACE) != 0;
		return new MethodNode(Opcodes.ASM9, Opcodes.ACC_STATIC | Opcodes.ACC_SYNTHETIC
			| (itf ? Opcodes.ACC_PUBLIC : 0), name, Companion.RESUME_DESC, null, null);
	}

	/** Made by compilers or by us: nobody misses it in a dump. */
	private boolean isGlue() {
		return owner.node.name.contains("$$L")
			|| (m.access & (Opcodes.ACC_BRIDGE | Opcodes.ACC_SYNTHETIC)) != 0;
	}

	/**
	 * Nothing is left to do after the call but to return what it returned. A method of such
	 * calls alone needs no resume code. Glue leaves no frame, either: the handler checks, and
	 * says that this method was passed.
	 */
	private boolean isTail(Site s) {
		if (!s.below.isEmpty())
			return false;
		int k = m.instructions.indexOf(s.call);
		for (TryCatchBlockNode b : m.tryCatchBlocks)
			if (m.instructions.indexOf(b.start) <= k && k < m.instructions.indexOf(b.end))
				return false;
		AbstractInsnNode n = News.next(s.call);
		if (n == null || n.getOpcode() < Opcodes.IRETURN || n.getOpcode() > Opcodes.RETURN)
			return false;
		Type r = Type.getReturnType(s.call.desc);
		return r.getSort() == Type.VOID ? n.getOpcode() == Opcodes.RETURN
			: n.getOpcode() == r.getOpcode(Opcodes.IRETURN);
	}

	private static char kind(MethodInsnNode c) {
		switch (c.getOpcode()) {
		case Opcodes.INVOKESTATIC: return 's';
		case Opcodes.INVOKESPECIAL: return 'p';
		case Opcodes.INVOKEINTERFACE: return 'i';
		default: return 'v';
		}
	}

	private static List<String[]> describe(Site s) {
		List<String[]> l = new ArrayList<>();
		for (Saved v : s.saved)
			l.add(new String[] {"" + v.bank + v.index, v.name, v.debugType});
		return l;
	}

	/** Of each instruction; 0: not known. */
	private Map<AbstractInsnNode, Integer> lines() {
		Map<AbstractInsnNode, Integer> lines = new HashMap<>();
		int line = 0;
		for (AbstractInsnNode i : m.instructions)
			if (i instanceof LineNumberNode)
				line = ((LineNumberNode) i).line;
			else if (i.getOpcode() >= 0)
				lines.put(i, line);
		return lines;
	}

	/** Says the line again where what is kept begins in the middle of one. */
	private static void keepLines(MethodNode to, Map<AbstractInsnNode, Integer> lines) {
		int line = 0;
		for (AbstractInsnNode i : to.instructions.toArray()) {
			if (i instanceof LineNumberNode)
				line = ((LineNumberNode) i).line;
			int own = lines.getOrDefault(i, line);
			if (own == line || own == 0)
				continue;
			LabelNode at = new LabelNode();
			to.instructions.insertBefore(i, at);
			to.instructions.insertBefore(i, new LineNumberNode(own, at));
			line = own;
		}
	}

	/** What delayNews saw last is the method as it is. */
	private void analyse() throws AnalyzerException {
		if (frames == null)
			frames = Types.of(hierarchy, owner.node.name, m);
		temps = m.maxLocals;
		maxTemp = temps;
		live = new Liveness(m);
	}

	private boolean isSite(AbstractInsnNode i) {
		return i instanceof MethodInsnNode && graph.suspends((MethodInsnNode) i);
	}

	/* --- new Foo(... suspends ...) --- */

	/**
	 * Moves NEW behind the arguments of its constructor where they may suspend. All that are
	 * found at once: where each is used was read from the same frames, and none is in another's
	 * way. A method that builds a large literal has hundreds of them.
	 */
	private void delayNews() throws AnalyzerException {
		for (;;) {
			Set<AbstractInsnNode> news = pendingNews();
			news.removeAll(stuck);
			if (news.isEmpty())
				return;
			Map<AbstractInsnNode, List<MethodInsnNode>> inits = News.inits(frames, m);
			for (AbstractInsnNode n : news)
				if (inits.get(n).isEmpty())
					stuck.add(n);
				else
					delay(n, inits.get(n));
		}
	}

	private final Set<AbstractInsnNode> stuck = new HashSet<>();

	private Set<AbstractInsnNode> pendingNews() throws AnalyzerException {
		Set<AbstractInsnNode> news = new java.util.LinkedHashSet<>();
		if (!contains(Opcodes.NEW))
			return news;
		frames = Types.of(hierarchy, owner.node.name, m);
		for (AbstractInsnNode i : m.instructions) {
			if (!isSite(i))
				continue;
			Frame<BasicValue> f = frames[m.instructions.indexOf(i)];
			if (f == null)
				continue;
			for (int k = 0; k < f.getStackSize(); k++)
				if (f.getStack(k) instanceof Types.New)
					if (((Types.New) f.getStack(k)).at != null)
						news.add(((Types.New) f.getStack(k)).at);
		}
		return news;
	}

	private boolean contains(int opcode) {
		for (AbstractInsnNode i : m.instructions)
			if (i.getOpcode() == opcode)
				return true;
		return false;
	}

	private void delay(AbstractInsnNode n, List<MethodInsnNode> inits) {
		AbstractInsnNode dup = News.next(n);
		boolean dupped = dup != null && dup.getOpcode() == Opcodes.DUP;
		for (MethodInsnNode init : inits) {
			InsnList l = new InsnList();
			Type[] args = Type.getArgumentTypes(init.desc);
			int t = m.maxLocals;
			int[] at = new int[args.length];
			for (int k = args.length - 1; k >= 0; k--) {
				at[k] = t;
				l.add(new VarInsnNode(args[k].getOpcode(Opcodes.ISTORE), t));
				t += args[k].getSize();
			}
			l.add(new TypeInsnNode(Opcodes.NEW, ((TypeInsnNode) n).desc));
			if (dupped)
				l.add(new InsnNode(Opcodes.DUP));
			for (int k = 0; k < args.length; k++)
				l.add(new VarInsnNode(args[k].getOpcode(Opcodes.ILOAD), at[k]));
			m.instructions.insertBefore(init, l);
			m.maxLocals = Math.max(m.maxLocals, t);
		}
		m.instructions.remove(n);
		if (dupped)
			m.instructions.remove(dup);
	}

	/* --- the plan of each site, made on the unchanged body --- */

	private final class Plan {
		final Site site;
		InsnList before;

		Plan(Site s) {
			site = s;
		}

		void apply() {
			if (before != null)
				m.instructions.insertBefore(site.call, before);
		}
	}

	private List<Plan> plan() {
		List<Plan> plans = new ArrayList<>();
		findChanged();
		for (AbstractInsnNode i : m.instructions.toArray()) {
			Frame<BasicValue> f = frames[m.instructions.indexOf(i)];
			if (f == null)
				continue;
			if (!isSite(i)) {
				if (owner.pins(i))
					pinned.add(i);
				continue;
			}
			MethodInsnNode c = (MethodInsnNode) i;
			Plan p = c.name.equals("<init>") ? null : plan(c, f);
			if (p == null) {
				pinned.add(c);
				owner.report.pin(owner.node.name, m.name, c,
					"an object under construction, or of a hidden class");
			} else {
				plans.add(p);
				sites.add(p.site);
			}
		}
		return plans;
	}

	/** Resume code could not cast to it. */
	private boolean isHidden(Type t) {
		Type e = t.getSort() == Type.ARRAY ? t.getElementType() : t;
		return e.getSort() == Type.OBJECT
			&& hierarchy.isHidden(e.getInternalName(), owner.node.name);
	}

	/** Null: it cannot be captured there. */
	private Plan plan(MethodInsnNode c, Frame<BasicValue> f) {
		if (isHidden(Type.getReturnType(c.desc)))
			return null;
		Site s = new Site();
		s.call = c;
		Plan p = new Plan(s);
		BitSet keep = live.after(c);
		for (int k = keep.nextSetBit(0); k >= 0; k = keep.nextSetBit(k + 1)) {
			if (k >= f.getLocals())
				continue;
			BasicValue v = f.getLocal(k);
			if (v instanceof Types.New)
				return null;
			if (v == BasicValue.UNINITIALIZED_VALUE || v.getType() == null)
				continue;
			if (isHidden(v.getType()))
				return null;
			save(s, k, v, c);
		}
		int args = Type.getArgumentTypes(c.desc).length;
		boolean recv = c.getOpcode() != Opcodes.INVOKESTATIC;
		int below = f.getStackSize() - args - (recv ? 1 : 0);
		boolean spillBelow = false;
		for (int k = 0; k < below; k++) {
			BasicValue v = f.getStack(k);
			if (v instanceof Types.New || isHidden(v.getType()))
				return null;
			spillBelow |= reload(v, c) == null;
			s.sizes.add(v.getSize());
		}
		boolean check = c.getOpcode() == Opcodes.INVOKEVIRTUAL
			|| c.getOpcode() == Opcodes.INVOKEINTERFACE;
		boolean spillRecv = false;
		if (check) {
			AbstractInsnNode r = reload(f.getStack(below), c);
			if (r instanceof VarInsnNode)
				s.receiver = ((VarInsnNode) r).var;
			else
				spillRecv = true;
		}
		if (spillBelow || spillRecv)
			spill(p, f, below, args, recv, spillBelow, spillRecv);
		else
			for (int k = 0; k < below; k++)
				keepBelow(s, reload(f.getStack(k), c), f.getStack(k), c);
		assign(s);
		return p;
	}

	/**
	 * Behind a pinned call: leaves the pin, normally and by exception. In line, so that the
	 * exception is thrown again inside the program's own try ranges.
	 */
	private static InsnList exits(MethodNode m, LabelNode start) {
		LabelNode end = new LabelNode();
		LabelNode h = new LabelNode();
		LabelNode on = new LabelNode();
		InsnList l = new InsnList();
		l.add(end);
		l.add(pins("exit"));
		l.add(new JumpInsnNode(Opcodes.GOTO, on));
		l.add(h);
		l.add(pins("exit"));
		l.add(new InsnNode(Opcodes.ATHROW));
		l.add(on);
		m.tryCatchBlocks.add(0, new TryCatchBlockNode(start, end, h, null));
		return l;
	}

	static MethodInsnNode pins(String name) {
		return new MethodInsnNode(Opcodes.INVOKESTATIC, PINS, name, "()V", false);
	}

	/** A new instruction that pushes the value again at c; null: it must be spilled. */
	private AbstractInsnNode reload(BasicValue v, AbstractInsnNode c) {
		if (v.getType() != null && isNull(v.getType()))
			return new InsnNode(Opcodes.ACONST_NULL);
		if (!(v instanceof Types.Pushed))
			return null;
		AbstractInsnNode from = ((Types.Pushed) v).from;
		int op = from.getOpcode();
		if (op >= Opcodes.ACONST_NULL && op <= Opcodes.LDC)
			return from.clone(new HashMap<>());
		if (op < Opcodes.ILOAD || op > Opcodes.ALOAD || changed.contains(from))
			return null;
		return new VarInsnNode(op, ((VarInsnNode) from).var);
	}

	/**
	 * Loads whose local may have changed by the time of some site that has the value on
	 * its stack. One answer for all sites: a site that restores the value from a spill
	 * does not restore the local, so a later one must not read it there.
	 */
	private final Set<AbstractInsnNode> changed = new HashSet<>();

	/** From where to where, by index. */
	private final List<int[]> jumps = new ArrayList<>();

	private void findChanged() {
		for (AbstractInsnNode i : m.instructions)
			for (LabelNode l : Liveness.targets(i))
				jumps.add(new int[] {m.instructions.indexOf(i), m.instructions.indexOf(l)});
		for (AbstractInsnNode c : m.instructions) {
			if (!isSite(c))
				continue;
			Frame<BasicValue> f = frames[m.instructions.indexOf(c)];
			for (int k = 0; f != null && k < f.getStackSize(); k++)
				if (f.getStack(k) instanceof Types.Pushed) {
					AbstractInsnNode from = ((Types.Pushed) f.getStack(k)).from;
					if (from instanceof VarInsnNode && !straight((VarInsnNode) from, c))
						changed.add(from);
				}
		}
	}

	/** From the load to the call: no store to the local, only jumps ahead. */
	private boolean straight(VarInsnNode from, AbstractInsnNode c) {
		int var = from.var;
		boolean wide = from.getOpcode() == Opcodes.LLOAD || from.getOpcode() == Opcodes.DLOAD;
		int a = m.instructions.indexOf(from);
		int b = m.instructions.indexOf(c);
		if (b < a)
			return false;
		for (int k = a + 1; k < b; k++) {
			AbstractInsnNode i = m.instructions.get(k);
			if (i instanceof VarInsnNode && i.getOpcode() >= Opcodes.ISTORE
					&& i.getOpcode() <= Opcodes.ASTORE) {
				int w = ((VarInsnNode) i).var;
				boolean two = i.getOpcode() == Opcodes.LSTORE
					|| i.getOpcode() == Opcodes.DSTORE;
				if (w == var || two && w + 1 == var || wide && w == var + 1)
					return false;
			}
			if (i instanceof IincInsnNode && ((IincInsnNode) i).var == var)
				return false;
		}
		/* Expressions only jump ahead; who comes back from behind may have stored. */
		for (int[] j : jumps)
			if (j[1] > a && j[1] <= b && (j[0] < a || j[0] > j[1]))
				return false;
		return true;
	}

	private void keepBelow(Site s, AbstractInsnNode push, BasicValue v, MethodInsnNode c) {
		s.below.add(push);
		if (!(push instanceof VarInsnNode))
			return;
		int var = ((VarInsnNode) push).var;
		for (Saved x : s.saved)
			if (x.local == var)
				return;
		if (s.nulls.contains(var))
			return;
		save(s, var, v, c);
	}

	private void spill(Plan p, Frame<BasicValue> f, int below, int args, boolean recv,
			boolean spillBelow, boolean spillRecv) {
		Site s = p.site;
		InsnList l = new InsnList();
		p.before = l;
		int t = temps;
		if (!spillBelow && args == 0) {
			l.add(new InsnNode(Opcodes.DUP));
			l.add(new VarInsnNode(Opcodes.ASTORE, t));
			s.receiver = t++;
			for (int k = 0; k < below; k++)
				keepBelow(s, reload(f.getStack(k), s.call), f.getStack(k), s.call);
			maxTemp = Math.max(maxTemp, t);
			return;
		}
		InsnList push = new InsnList();
		int n = f.getStackSize();
		int from = spillBelow ? 0 : below;
		for (int k = n - 1; k >= from; k--) {
			BasicValue v = f.getStack(k);
			boolean isRecv = recv && k == below;
			AbstractInsnNode again = reload(v, s.call);
			if (again != null && !(isRecv && spillRecv)) {
				l.add(new InsnNode(v.getSize() == 2 ? Opcodes.POP2 : Opcodes.POP));
				push.insert(again);
				if (k < below)
					s.below.add(0, again.clone(new HashMap<>()));
				continue;
			}
			Type type = v.getType();
			l.add(new VarInsnNode(type.getOpcode(Opcodes.ISTORE), t));
			push.insert(new VarInsnNode(type.getOpcode(Opcodes.ILOAD), t));
			if (isRecv && spillRecv)
				s.receiver = t;
			if (k < below) {
				s.below.add(0, new VarInsnNode(type.getOpcode(Opcodes.ILOAD), t));
				s.saved.add(new Saved(t, type, " ", debug(type)));
			}
			t += type.getSize();
		}
		for (int k = 0; k < from; k++)
			keepBelow(s, reload(f.getStack(k), s.call), f.getStack(k), s.call);
		if (spillBelow)
			for (int k = 0; k < below; k++) {
				AbstractInsnNode again = reload(f.getStack(k), s.call);
				if (again instanceof VarInsnNode) {
					int var = ((VarInsnNode) again).var;
					if (s.saved.stream().noneMatch(x -> x.local == var)
							&& !s.nulls.contains(var))
						save(s, var, f.getStack(k), s.call);
				}
			}
		l.add(push);
		maxTemp = Math.max(maxTemp, t);
	}

	private static boolean isNull(Type t) {
		return t.getDescriptor().equals("Lnull;");
	}

	private static String debug(Type t) {
		return isNull(t) ? "Ljava/lang/Object;" : t.getDescriptor();
	}

	private void save(Site s, int local, BasicValue v, AbstractInsnNode c) {
		if (isNull(v.getType())) {
			s.nulls.add(local);
			return;
		}
		String name = " ";
		String type = debug(v.getType());
		int at = m.instructions.indexOf(c);
		if (m.localVariables != null)
			for (LocalVariableNode x : m.localVariables)
				if (x.index == local && m.instructions.indexOf(x.start) <= at
						&& m.instructions.indexOf(x.end) > at) {
					name = x.name;
					if (x.desc.length() == 1)
						type = x.desc;
				}
		s.saved.add(new Saved(local, v.getType(), name, type));
	}

	private static void assign(Site s) {
		int i = 0;
		int j = 0;
		int a = 0;
		for (Saved v : s.saved) {
			switch (v.type.getSort()) {
			case Type.LONG: case Type.DOUBLE:
				v.bank = 'j';
				v.index = j++;
				break;
			case Type.OBJECT: case Type.ARRAY:
				v.bank = 'a';
				v.index = a++;
				break;
			default:
				v.bank = 'i';
				v.index = i++;
				break;
			}
		}
		s.shape = new Shape(i, j, a);
	}

	/* --- handlers --- */

	/** The three bodies of a method, and what each does once its frame is pushed. */
	private enum Body {
		/** Throws. */
		METHOD,
		/** Returns anything, marked. */
		TWIN,
		/** Returns false, to the trampoline. */
		COPY
	}

	/** Adds the capture handlers to a body: at s.call, or at what copies says. */
	private void handlers(MethodNode to, Body body) {
		List<TryCatchBlockNode> mine = new ArrayList<>();
		List<TryCatchBlockNode> program = new ArrayList<>();
		List<Site> alike = new ArrayList<>(sites);
		alike.sort(Comparator.comparing(MethodRewriter::values));
		for (Site s : alike) {
			MethodInsnNode c = body == Body.METHOD ? s.call : copies.get(s);
			if (c == null)
				continue;
			LabelNode start = new LabelNode();
			LabelNode end = new LabelNode();
			LabelNode h = new LabelNode();
			to.instructions.insertBefore(c, start);
			to.instructions.insert(c, end);
			if (owner.twins.reaches(c))
				look(to, s, c, start, end, body);
			to.instructions.add(h);
			push(to.instructions, s, body != Body.COPY);
			if (!s.covered.isEmpty()) {
				LabelNode pushed = new LabelNode();
				to.instructions.add(pushed);
				for (TryCatchBlockNode b : s.covered)
					if (to.tryCatchBlocks.contains(ranges.get(b)))
						program.add(new TryCatchBlockNode(h, pushed, ranges.get(b).handler,
							b.type));
			}
			leave(to.instructions, body);
			mine.add(new TryCatchBlockNode(start, end, h, CAPTURE));
		}
		to.tryCatchBlocks.addAll(0, mine);
		to.tryCatchBlocks.addAll(program);
	}

	/** Of the method, to that of the body which is being written. */
	private final Map<TryCatchBlockNode, TryCatchBlockNode> ranges = new HashMap<>();

	/** The program's ranges around each site. */
	private void cover() {
		for (Site s : sites) {
			int k = m.instructions.indexOf(s.call);
			for (TryCatchBlockNode b : m.tryCatchBlocks)
				if (m.instructions.indexOf(b.start) <= k && k < m.instructions.indexOf(b.end))
					s.covered.add(b);
		}
	}

	/** Calls the twin, and looks whether it suspended: then to the handler. */
	private void look(MethodNode to, Site s, MethodInsnNode c, LabelNode start, LabelNode end,
			Body body) {
		InsnList before = new InsnList();
		if (body == Body.TWIN) {
			before.add(new VarInsnNode(Opcodes.ALOAD, captureLocal));
		} else {
			before.add(new MethodInsnNode(Opcodes.INVOKESTATIC, TWINS, "mine",
				"()L" + CAPTURE + ";", false));
			before.add(new InsnNode(Opcodes.DUP));
			before.add(new VarInsnNode(Opcodes.ASTORE, captureLocal));
		}
		to.instructions.insertBefore(start, before);
		owner.twins.redirect(c);
		LabelNode suspended = new LabelNode();
		InsnList after = new InsnList();
		after.add(new VarInsnNode(Opcodes.ALOAD, captureLocal));
		after.add(new MethodInsnNode(Opcodes.INVOKESTATIC, TWINS, "returned",
			"(L" + CAPTURE + ";)Z", false));
		after.add(new JumpInsnNode(Opcodes.IFNE, suspended));
		to.instructions.insert(end, after);
		InsnList l = to.instructions;
		l.add(suspended);
		pop(l, Type.getReturnType(c.desc).getSize());
		for (int k = s.sizes.size() - 1; k >= 0; k--)
			pop(l, s.sizes.get(k));
		l.add(new VarInsnNode(Opcodes.ALOAD, captureLocal));
		l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, TWINS, "seen",
			"(L" + CAPTURE + ";)L" + CAPTURE + ";", false));
	}

	private static void pop(InsnList l, int size) {
		if (size > 0)
			l.add(new InsnNode(size == 2 ? Opcodes.POP2 : Opcodes.POP));
	}

	/** Stack: Capture, but in the copy. */
	private void leave(InsnList l, Body body) {
		switch (body) {
		case METHOD:
			l.add(new InsnNode(Opcodes.ATHROW));
			break;
		case COPY:
			l.add(new InsnNode(Opcodes.ICONST_0));
			l.add(new InsnNode(Opcodes.IRETURN));
			break;
		default:
			l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, TWINS, "leave",
				"(L" + CAPTURE + ";)V", false));
			Type r = Type.getReturnType(m.desc);
			anything(l, r);
			l.add(new InsnNode(r.getOpcode(Opcodes.IRETURN)));
			break;
		}
	}

	private static void anything(InsnList l, Type r) {
		switch (r.getSort()) {
		case Type.VOID: break;
		case Type.LONG: l.add(new InsnNode(Opcodes.LCONST_0)); break;
		case Type.FLOAT: l.add(new InsnNode(Opcodes.FCONST_0)); break;
		case Type.DOUBLE: l.add(new InsnNode(Opcodes.DCONST_0)); break;
		case Type.OBJECT: case Type.ARRAY: l.add(new InsnNode(Opcodes.ACONST_NULL)); break;
		default: l.add(new InsnNode(Opcodes.ICONST_0)); break;
		}
	}

	/* --- the twin --- */

	/** The same body under another name, with a Capture as the last argument. */
	private MethodNode twin() {
		owner.report.twin(owner.node.name, m.name + m.desc);
		MethodNode r = new MethodNode(Opcodes.ASM9, m.access & ~(Opcodes.ACC_SYNCHRONIZED
			| Opcodes.ACC_BRIDGE | Opcodes.ACC_VARARGS) | Opcodes.ACC_SYNTHETIC,
			Twins.name(owner.node.name, m.name), Twins.desc(m.desc), null, m.exceptions.toArray(new String[0]));
		copies.clear();
		Map<LabelNode, LabelNode> map = labels();
		Map<AbstractInsnNode, Site> at = calls();
		List<AbstractInsnNode> pins = new ArrayList<>();
		for (AbstractInsnNode i : m.instructions) {
			if (i.getType() == AbstractInsnNode.FRAME)
				continue;
			AbstractInsnNode n = i.clone(map);
			r.instructions.add(n);
			if (at.containsKey(i))
				copies.put(at.get(i), (MethodInsnNode) n);
			if (pinned.contains(i))
				pins.add(n);
		}
		ranges(r, map);
		handlers(r, Body.TWIN);
		for (AbstractInsnNode c : pins)
			pinCall(r, c);
		int args = (Type.getArgumentsAndReturnSizes(m.desc) >> 2)
			- ((m.access & Opcodes.ACC_STATIC) != 0 ? 1 : 0);
		/* To a local that nothing else uses: it is not the last argument for the body. */
		InsnList keep = new InsnList();
		keep.add(new VarInsnNode(Opcodes.ALOAD, args));
		keep.add(new VarInsnNode(Opcodes.ASTORE, captureLocal));
		r.instructions.insert(keep);
		r.maxLocals = captureLocal + 1;
		if (Twins.isOverridable(owner.node, m))
			r.instructions.insert(overridden());
		return r;
	}

	/** To the method itself, where a class without a twin overrides it. */
	private InsnList overridden() {
		InsnList l = new InsnList();
		LabelNode on = new LabelNode();
		String self = owner.node.name;
		l.add(new VarInsnNode(Opcodes.ALOAD, 0));
		l.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, "java/lang/Object", "getClass",
			"()Ljava/lang/Class;", false));
		l.add(new LdcInsnNode(Type.getObjectType(self)));
		l.add(new JumpInsnNode(Opcodes.IF_ACMPEQ, on));
		l.add(new VarInsnNode(Opcodes.ALOAD, 0));
		l.add(new LdcInsnNode(m.name + m.desc));
		l.add(new LdcInsnNode(Type.getObjectType(self)));
		l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, TWINS, "inherits",
			"(Ljava/lang/Object;Ljava/lang/String;Ljava/lang/Class;)Z", false));
		l.add(new JumpInsnNode(Opcodes.IFNE, on));
		l.add(new VarInsnNode(Opcodes.ALOAD, 0));
		int at = 1;
		for (Type t : Type.getArgumentTypes(m.desc)) {
			l.add(new VarInsnNode(t.getOpcode(Opcodes.ILOAD), at));
			at += t.getSize();
		}
		l.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, self, m.name, m.desc, false));
		l.add(new InsnNode(Type.getReturnType(m.desc).getOpcode(Opcodes.IRETURN)));
		l.add(on);
		return l;
	}

	/** Handlers that read the same locals stand together: one stack-map frame for them. */
	private static String values(Site s) {
		if (s.values == null) {
			TreeMap<Integer, String> m = new TreeMap<>();
			m.put(s.receiver, "");
			for (Saved v : s.saved)
				m.put(v.local, v.type.getDescriptor());
			s.values = m.toString();
		}
		return s.values;
	}

	/** Stack: Capture. Pushes the frame. */
	private void push(InsnList l, Site s, boolean keep) {
		if (keep)
			l.add(new InsnNode(Opcodes.DUP));
		if (s.receiver >= 0)
			l.add(new VarInsnNode(Opcodes.ALOAD, s.receiver));
		else
			l.add(new InsnNode(Opcodes.ACONST_NULL));
		l.add(constant(s.index));
		l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, owner.companion.name(), "at",
			Companion.AT_DESC, false));
		if (s.tail) {
			l.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, PUSHES, "pass", "()V", false));
			return;
		}
		if (s.shape.wide) {
			wide(l, s, 'i', s.shape.i, "ints", "[I", Opcodes.IASTORE);
			wide(l, s, 'j', s.shape.j, "longs", "[J", Opcodes.LASTORE);
			wide(l, s, 'a', s.shape.a, "refs", "[Ljava/lang/Object;", Opcodes.AASTORE);
		} else {
			bank(l, s, 'i', s.shape.i, Opcodes.ICONST_0);
			bank(l, s, 'j', s.shape.j, Opcodes.LCONST_0);
			bank(l, s, 'a', s.shape.a, Opcodes.ACONST_NULL);
		}
		l.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, PUSHES, "push", s.shape.pushDesc(),
			false));
	}

	private static void bank(InsnList l, Site s, char bank, int n, int filler) {
		int k = 0;
		for (Saved v : s.saved)
			if (v.bank == bank) {
				value(l, v);
				k++;
			}
		for (; k < n; k++)
			l.add(new InsnNode(filler));
	}

	private static void wide(InsnList l, Site s, char bank, int n, String make, String type,
			int store) {
		l.add(constant(n));
		l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, PUSHES, make, "(I)" + type, false));
		for (Saved v : s.saved)
			if (v.bank == bank) {
				l.add(new InsnNode(Opcodes.DUP));
				l.add(constant(v.index));
				value(l, v);
				l.add(new InsnNode(store));
			}
	}

	private static void value(InsnList l, Saved v) {
		l.add(new VarInsnNode(v.type.getOpcode(Opcodes.ILOAD), v.local));
		if (v.type.getSort() == Type.FLOAT)
			l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, "java/lang/Float",
				"floatToRawIntBits", "(F)I", false));
		else if (v.type.getSort() == Type.DOUBLE)
			l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, "java/lang/Double",
				"doubleToRawLongBits", "(D)J", false));
	}

	static AbstractInsnNode constant(int k) {
		if (k >= -1 && k <= 5)
			return new InsnNode(Opcodes.ICONST_0 + k);
		if (k == (byte) k)
			return new IntInsnNode(Opcodes.BIPUSH, k);
		if (k == (short) k)
			return new IntInsnNode(Opcodes.SIPUSH, k);
		return new LdcInsnNode(k);
	}

	/* --- the copy --- */

	private final Map<Site, MethodInsnNode> copies = new HashMap<>();

	/*
	 * Locals of the copy: the continuation is 0 and stays, the method's own follow it. So
	 * the stack-map frames differ at the end, as the original's do, and stay short.
	 * The entry and the frame are needed in the prologue alone.
	 */
	private static final int T = 1 << 20;
	private static final int PC = T + 1;
	private static final int F = T + 2;

	private static void number(MethodNode r, int locals) {
		for (AbstractInsnNode i : r.instructions)
			if (i instanceof VarInsnNode)
				((VarInsnNode) i).var = number(((VarInsnNode) i).var);
			else if (i instanceof IincInsnNode)
				((IincInsnNode) i).var = number(((IincInsnNode) i).var);
		r.maxLocals = Math.max(locals + 1, 3);
	}

	private static int number(int var) {
		return var >= T ? var - T : var + 1;
	}

	private Map<AbstractInsnNode, Site> calls() {
		Map<AbstractInsnNode, Site> at = new HashMap<>();
		for (Site s : sites)
			at.put(s.call, s);
		return at;
	}

	private Map<LabelNode, LabelNode> labels() {
		Map<LabelNode, LabelNode> map = new HashMap<>();
		for (AbstractInsnNode i : m.instructions)
			if (i instanceof LabelNode)
				map.put((LabelNode) i, new LabelNode());
		return map;
	}

	private void ranges(MethodNode r, Map<LabelNode, LabelNode> map) {
		ranges.clear();
		for (TryCatchBlockNode b : m.tryCatchBlocks) {
			TryCatchBlockNode n = new TryCatchBlockNode(map.get(b.start), map.get(b.end),
				map.get(b.handler), b.type);
			ranges.put(b, n);
			r.tryCatchBlocks.add(n);
		}
	}

	/** The copy that is entered at these sites. */
	private MethodNode copy(String name, List<Site> entries) {
		MethodNode r = empty(name);
		copies.clear();
		for (Site s : sites)
			s.resume = null;
		Map<LabelNode, LabelNode> map = labels();
		Map<Site, LabelNode> behind = new HashMap<>();
		prologue(r.instructions, entries, behind);
		Map<AbstractInsnNode, Site> at = calls();
		Map<AbstractInsnNode, Integer> old = lines();
		Map<AbstractInsnNode, Integer> lines = new HashMap<>();
		List<AbstractInsnNode> pins = new ArrayList<>();
		for (AbstractInsnNode i : m.instructions) {
			if (i.getType() == AbstractInsnNode.FRAME)
				continue;
			int op = i.getOpcode();
			if (op >= Opcodes.IRETURN && op <= Opcodes.RETURN) {
				ret(r.instructions, op);
				continue;
			}
			AbstractInsnNode n = i.clone(map);
			r.instructions.add(n);
			if (op >= 0)
				lines.put(n, old.get(i));
			Site s = at.get(i);
			if (s != null) {
				copies.put(s, (MethodInsnNode) n);
				if (s.resume != null)
					resumePoint(r.instructions, s);
				if (behind.containsKey(s))
					r.instructions.add(behind.get(s));
			} else if (pinned.contains(i)) {
				pins.add(n);
			}
		}
		ranges(r, map);
		Reach.prune(r);
		keepLines(r, lines);
		Set<AbstractInsnNode> kept = new HashSet<>();
		r.instructions.forEach(kept::add);
		copies.values().retainAll(kept);
		pins.retainAll(kept);
		handlers(r, Body.COPY);
		for (AbstractInsnNode c : pins)
			pinCall(r, c);
		number(r, m.maxLocals);
		r.maxStack = m.maxStack + 4;
		return r;
	}

	private void prologue(InsnList l, List<Site> entries, Map<Site, LabelNode> behind) {
		LabelNode[] entry = new LabelNode[entries.size()];
		for (int k = 0; k < entry.length; k++)
			entry[k] = new LabelNode();
		if (entry.length > 1) {
			l.add(new VarInsnNode(Opcodes.ILOAD, PC));
			l.add(new InsnNode(Opcodes.I2C));
			l.add(new TableSwitchInsnNode(0, entry.length - 1, entry[0], entry));
		}
		for (int k = 0; k < entry.length; k++) {
			Site s = entries.get(k);
			l.add(entry[k]);
			restore(l, s);
			for (AbstractInsnNode b : s.below)
				l.add(b.clone(new HashMap<>()));
			LabelNode to = new LabelNode();
			if (isCovered(s)) {
				s.resume = to;
			} else {
				take(l, s);
				behind.put(s, to);
			}
			l.add(new JumpInsnNode(Opcodes.GOTO, to));
		}
	}

	/** Is the call inside a try range of the program? Then what it throws arrives there. */
	private static boolean isCovered(Site s) {
		return !s.covered.isEmpty();
	}

	private void restore(InsnList l, Site s) {
		if (!s.saved.isEmpty())
			unpack(l, s);
		for (int v : s.nulls) {
			l.add(new InsnNode(Opcodes.ACONST_NULL));
			l.add(new VarInsnNode(Opcodes.ASTORE, v));
		}
	}

	private void unpack(InsnList l, Site s) {
		l.add(new VarInsnNode(Opcodes.ALOAD, F));
		l.add(new TypeInsnNode(Opcodes.CHECKCAST, s.shape.className()));
		int left = s.saved.size();
		for (Saved v : s.saved) {
			if (--left > 0)
				l.add(new InsnNode(Opcodes.DUP));
			fetch(l, s, v);
			switch (v.type.getSort()) {
			case Type.FLOAT:
				l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, "java/lang/Float",
					"intBitsToFloat", "(I)F", false));
				break;
			case Type.DOUBLE:
				l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, "java/lang/Double",
					"longBitsToDouble", "(J)D", false));
				break;
			case Type.OBJECT: case Type.ARRAY:
				cast(l, v.type);
				break;
			default:
				break;
			}
			l.add(new VarInsnNode(v.type.getOpcode(Opcodes.ISTORE), v.local));
		}
	}

	private static void fetch(InsnList l, Site s, Saved v) {
		String elem = v.bank == 'i' ? "I" : v.bank == 'j' ? "J" : "Ljava/lang/Object;";
		if (!s.shape.wide) {
			l.add(new FieldInsnNode(Opcodes.GETFIELD, s.shape.className(),
				"" + v.bank + v.index, elem));
			return;
		}
		l.add(new FieldInsnNode(Opcodes.GETFIELD, s.shape.className(), "" + v.bank,
			"[" + elem));
		l.add(constant(v.index));
		l.add(new InsnNode(v.bank == 'i' ? Opcodes.IALOAD
			: v.bank == 'j' ? Opcodes.LALOAD : Opcodes.AALOAD));
	}

	private void resumePoint(InsnList l, Site s) {
		LabelNode d = new LabelNode();
		l.add(new JumpInsnNode(Opcodes.GOTO, d));
		l.add(s.resume);
		take(l, s);
		l.add(d);
	}

	/** What the call returned, or throws what it threw. */
	private void take(InsnList l, Site s) {
		l.add(new VarInsnNode(Opcodes.ALOAD, T));
		Type r = Type.getReturnType(s.call.desc);
		String k;
		String desc;
		switch (r.getSort()) {
		case Type.VOID: k = "V"; desc = "V"; break;
		case Type.LONG: k = "J"; desc = "J"; break;
		case Type.FLOAT: k = "F"; desc = "F"; break;
		case Type.DOUBLE: k = "D"; desc = "D"; break;
		case Type.OBJECT: case Type.ARRAY: k = "A"; desc = "Ljava/lang/Object;"; break;
		default: k = "I"; desc = "I"; break;
		}
		l.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, CONT, "take" + k, "()" + desc, false));
		if (k.equals("A"))
			cast(l, r);
	}

	private void cast(InsnList l, Type t) {
		if (t.getInternalName().equals("java/lang/Object"))
			return;
		owner.names(t);
		l.add(new TypeInsnNode(Opcodes.CHECKCAST, t.getInternalName()));
	}

	private static void ret(InsnList l, int op) {
		String d;
		switch (op) {
		case Opcodes.IRETURN: d = "I"; break;
		case Opcodes.LRETURN: d = "J"; break;
		case Opcodes.FRETURN: d = "F"; break;
		case Opcodes.DRETURN: d = "D"; break;
		case Opcodes.ARETURN: d = "Ljava/lang/Object;"; break;
		default: d = ""; break;
		}
		l.add(new VarInsnNode(Opcodes.ALOAD, T));
		if (d.equals("J") || d.equals("D")) {
			l.add(new InsnNode(Opcodes.DUP_X2));
			l.add(new InsnNode(Opcodes.POP));
		} else if (!d.isEmpty()) {
			l.add(new InsnNode(Opcodes.SWAP));
		}
		l.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, CONT, "ret", "(" + d + ")Z", false));
		l.add(new InsnNode(Opcodes.IRETURN));
	}

	/* --- pins --- */

	private void pinCalls() {
		for (AbstractInsnNode c : pinned)
			pinCall(m, c);
	}

	/** Brackets a call with Pins.enter and exit. */
	static void pinCall(MethodNode to, AbstractInsnNode c) {
		LabelNode start = new LabelNode();
		InsnList l = new InsnList();
		l.add(pins("enter"));
		l.add(start);
		to.instructions.insertBefore(c, l);
		to.instructions.insert(c, exits(to, start));
	}
}
