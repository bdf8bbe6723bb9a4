// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.IntInsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.LineNumberNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TableSwitchInsnNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.VarInsnNode;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.tree.analysis.Frame;
import org.ukthreads.pico.translate.analyse.CallGraph;
import org.ukthreads.pico.translate.analyse.Twins;

/*
 * Rewrites one method that may suspend, in phases that build on each other:
 *
 *   DelayedNews   moves `new` behind arguments that suspend
 *   SitePlans     which calls are sites, and what each of them saves
 *   Room          whether it all fits
 *   Body          Own, TwinBody, ResumeCopy: the bodies with their handlers; FrameCode: frames
 *
 * The body stays. Around each call that may suspend:
 *
 *        ... receiver, arguments        (live stack values below are kept in locals)
 *   C:   invoke foo
 *   D:   ...
 *   H:   [Capture]                      handler for C..D only, first in the table
 *        dup, receiver|null, k          the receiver is for the check
 *        invokestatic Foo$$Pico.at
 *        live...                        the frame
 *        invokevirtual Pushes.push
 *        athrow
 *
 * A separate copy of the body can be entered at any of its sites:
 *
 *   static boolean foo(Continuation t, int pc, Frame f)
 *        switch (pc) { P0, P1, ... }
 *   Pk:  live locals from f, stack values; t.takeI(); goto D
 *        ...
 *   C:   invoke foo                     a new call in the copy: same handler, but it
 *   D:   ...                            returns false (to the trampoline) instead of
 *        ireturn => t.ret(int)          throwing: no unwinding on repeated suspension
 *
 * Inside a try range of the program the value is taken there, not in Pk, so that an exception of
 * foo reaches the program's handlers:
 *
 *   C:   invoke foo; goto D
 *   Rk:  t.takeI()
 *   D:   ...
 *
 *   static boolean pico$$resume(Continuation t, int at, Frame f)
 *        calls the copies
 *
 * A call of a method that has a twin (see Twins and the runtime's Capture) goes to the twin; its
 * check joins the handler. In all three bodies, the method, its twin and the copy:
 *
 *        Capture c = Capture.mine()      (the twin: its argument)
 *   C:   invoke pico$foo$twin(..., c)
 *   D:   if (c.returned()) goto L
 *        ...
 *   L:   pop all; c.seen()
 *   H:   [Capture] push the frame, then
 *        method: athrow    twin: c.leave(); return any value    copy: return false
 *
 * All bodies push the same frame, so snapshots do not depend on twins. If there is no memory for
 * it, push throws that error. The program's ranges around the call cover the handler up to there,
 * so that the method's own catch and finally blocks run (see Pusher.failed).
 *
 * Code that no resume point reaches is cut out of the copy. There is one copy for each method, not
 * one tail for each site: tails share nothing, which made classes 2.3 to 4.3 times as large. The
 * price is that a loop of the copy may have two entries.
 */
final class MethodRewriter {
	static final String CAPTURE = "org/ukthreads/pico/Capture";
	private static final String PINS = "org/ukthreads/pico/Pins";
	static final String CONT = "org/ukthreads/pico/Continuation";

	final ClassRewriter owner;
	final MethodNode m;
	private final CallGraph graph;
	private SitePlans plans;
	/** The local in which the bodies keep the Capture for calls of twins. */
	int captureLocal;
	/** Number of resume copies. */
	private int parts;

	MethodRewriter(ClassRewriter owner, MethodNode m) {
		this.owner = owner;
		this.m = m;
		this.graph = owner.graph;
	}

	List<Site> sites() {
		return plans.sites;
	}

	/** Calls that cannot be captured. */
	List<AbstractInsnNode> pinned() {
		return plans.pinned;
	}

	/** Finds the sites. False: the method cannot fit into 64 KB. */
	boolean prepare() throws AnalyzerException {
		plans = new SitePlans(owner, m, new DelayedNews(owner, m, this::isSite).delay(),
			this::isSite);
		Map<MethodInsnNode, Integer> calls = new HashMap<>();
		List<MethodInsnNode> entries = new ArrayList<>();
		for (Site s : sites()) {
			calls.put(s.call, s.saved.size());
			entries.add(s.call);
		}
		Room room = new Room(m, calls);
		parts = owner.parts(m);
		if (!room.body())
			return false;
		boolean last = sites().stream().allMatch(this::isTail);
		while (!last && !room.copies(entries, step()))
			if ((parts = Large.more(parts)) == 0)
				return false;
		owner.parts(m, parts);
		return true;
	}

	/** Entries in each copy. */
	private int step() {
		return Math.max(1, (sites().size() + parts - 1) / parts);
	}

	/** Splits the prepared method. Returns the methods that are added. */
	List<MethodNode> rewrite(long hash) throws AnalyzerException {
		captureLocal = plans.apply();
		m.maxLocals = captureLocal + 1;
		List<MethodNode> made = new ArrayList<>();
		if (sites().isEmpty()) {
			if (owner.twins.has(owner.node, m))
				made.add(new TwinBody(this).make());
			pinCalls();
			return made;
		}
		cover();
		boolean last = sites().stream().allMatch(this::isTail);
		boolean tails = last && isGlue();
		String resumer = last ? null : owner.resumerName(m);
		owner.companion.method(m.name, m.desc, hash, resumer);
		if (tails) {
			for (Site s : sites())
				s.tail = true;
		}
		Map<AbstractInsnNode, Integer> lines = lines();
		for (Site s : sites())
			s.index = owner.companion.site(lines.get(s.call), s.kind(), s.call.owner,
				s.call.name, s.call.desc, s.describe());
		if (!last)
			made.addAll(copies(resumer));
		if (owner.twins.has(owner.node, m))
			made.add(new TwinBody(this).make());
		new Body.Own(this).handlers(m);
		pinCalls();
		if (owner.isEntered(m))
			m.instructions.insert(pins("entered"));
		return made;
	}

	private void cover() {
		for (Site s : sites()) {
			int k = m.instructions.indexOf(s.call);
			for (TryCatchBlockNode b : m.tryCatchBlocks)
				if (m.instructions.indexOf(b.start) <= k && k < m.instructions.indexOf(b.end))
					s.covered.add(b);
		}
	}

	/** Makes one copy, or several and a method that chooses if one would be too large. */
	private List<MethodNode> copies(String resumer) {
		if (Math.min(parts, sites().size()) <= 1)
			return List.of(new ResumeCopy(this, sites()).make(resumer));
		List<MethodNode> made = new ArrayList<>();
		MethodNode choose = empty(resumer);
		made.add(choose);
		int step = step();
		LabelNode[] to = new LabelNode[sites().size()];
		InsnList l = new InsnList();
		for (int k = 0; k < sites().size(); k += step) {
			MethodNode part = new ResumeCopy(this,
				sites().subList(k, Math.min(k + step, sites().size())))
				.make("pico$" + resumer + "$" + k / step);
			made.add(part);
			owner.resumes(part.name, m);
			LabelNode at = new LabelNode();
			java.util.Arrays.fill(to, k, Math.min(k + step, sites().size()), at);
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

	MethodNode empty(String name) {
		boolean itf = (owner.node.access & Opcodes.ACC_INTERFACE) != 0;
		return new MethodNode(Opcodes.ASM9, Opcodes.ACC_STATIC | Opcodes.ACC_SYNTHETIC
			| (itf ? Opcodes.ACC_PUBLIC : 0), name, Companion.RESUME_DESC, null, null);
	}

	/** True for methods made by compilers or by us, which a dump can do without. */
	private boolean isGlue() {
		return owner.node.name.contains("$$L")
			|| (m.access & (Opcodes.ACC_BRIDGE | Opcodes.ACC_SYNTHETIC)) != 0;
	}

	/**
	 * True if the method only returns what the call returned. A method of such calls only needs no
	 * resume code. If it is glue it leaves no frame either: the handler checks and reports that it
	 * was passed.
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

	/** The line of each instruction; 0: unknown. */
	Map<AbstractInsnNode, Integer> lines() {
		Map<AbstractInsnNode, Integer> lines = new HashMap<>();
		int line = 0;
		for (AbstractInsnNode i : m.instructions)
			if (i instanceof LineNumberNode)
				line = ((LineNumberNode) i).line;
			else if (i.getOpcode() >= 0)
				lines.put(i, line);
		return lines;
	}

	private boolean isSite(AbstractInsnNode i) {
		return i instanceof MethodInsnNode && graph.suspends((MethodInsnNode) i);
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

	/* --- pins --- */

	private void pinCalls() {
		for (AbstractInsnNode c : pinned())
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

	/**
	 * The code after a pinned call: leaves the pin, normally and by exception. It is in line, so
	 * that the exception is rethrown inside the program's own try ranges.
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
}
