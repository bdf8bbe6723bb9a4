// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.IincInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LocalVariableNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.VarInsnNode;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.tree.analysis.BasicValue;
import org.objectweb.asm.tree.analysis.Frame;
import org.ukthreads.pico.translate.analyse.Liveness;
import org.ukthreads.pico.translate.analyse.Types;

/*
 * The second phase, which plans on the body as it is: which calls are sites, and what each needs.
 * Live locals go into the frame. A value on the stack below the arguments is pushed again if
 * possible (a constant, a local that has not changed), otherwise it is kept in a local of its own.
 * Calls that cannot be captured pin.
 */
final class SitePlans {
	final List<Site> sites = new ArrayList<>();
	final List<AbstractInsnNode> pinned = new ArrayList<>();
	private final List<Plan> plans = new ArrayList<>();
	private final ClassRewriter owner;
	private final MethodNode m;
	private final Predicate<AbstractInsnNode> isSite;
	private final Frame<BasicValue>[] frames;
	private final Liveness live;
	private final int temps;
	private int maxTemp;
	/**
	 * Loads whose local may have changed before some site that has the value on its stack. The
	 * answer is the same for all sites: a site that restores the value from a spill does not
	 * restore the local, so a later one must not read it there.
	 */
	private final Set<AbstractInsnNode> changed = new HashSet<>();

	/** From where to where, by index. */
	private final List<int[]> jumps = new ArrayList<>();

	SitePlans(ClassRewriter owner, MethodNode m, Frame<BasicValue>[] frames,
			Predicate<AbstractInsnNode> isSite) throws AnalyzerException {
		this.owner = owner;
		this.m = m;
		this.frames = frames;
		this.isSite = isSite;
		temps = m.maxLocals;
		maxTemp = temps;
		live = new Liveness(m);
		plan();
	}

	/** Changes the body. Returns the first unused local. */
	int apply() {
		for (Plan p : plans)
			p.apply();
		return Math.max(m.maxLocals, maxTemp);
	}

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

	private void plan() {
		findChanged();
		for (AbstractInsnNode i : m.instructions.toArray()) {
			Frame<BasicValue> f = frames[m.instructions.indexOf(i)];
			if (f == null)
				continue;
			if (!isSite.test(i)) {
				if (owner.pins(i))
					pinned.add(i);
				continue;
			}
			MethodInsnNode c = (MethodInsnNode) i;
			Plan p = c.name.equals("<init>") ? null : plan(c, f);
			if (p == null) {
				pinned.add(c);
				owner.report.pin(owner.node.name, m.name, c,
					"with an object under construction or of a hidden class");
			} else {
				plans.add(p);
				sites.add(p.site);
			}
		}
	}

	/** True if resume code cannot cast to it. */
	private boolean isHidden(Type t) {
		Type e = t.getSort() == Type.ARRAY ? t.getElementType() : t;
		return e.getSort() == Type.OBJECT
			&& owner.hierarchy.isHidden(e.getInternalName(), owner.node.name);
	}

	/** Null if the call cannot be captured. */
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
		s.assign();
		return p;
	}

	/** A new instruction that pushes the value again at c; null if it must be spilled. */
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

	private void findChanged() {
		for (AbstractInsnNode i : m.instructions)
			for (LabelNode l : Liveness.targets(i))
				jumps.add(new int[] {m.instructions.indexOf(i), m.instructions.indexOf(l)});
		for (AbstractInsnNode c : m.instructions) {
			if (!isSite.test(c))
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

	/**
	 * True if there are only forward jumps, and no store to the local, between the load and the
	 * call.
	 */
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
		/* Expressions only jump ahead; code that jumps back may have stored. */
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
		for (Site.Saved x : s.saved)
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
				s.saved.add(new Site.Saved(t, type, " ", debug(type)));
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
		s.saved.add(new Site.Saved(local, v.getType(), name, type));
	}
}
