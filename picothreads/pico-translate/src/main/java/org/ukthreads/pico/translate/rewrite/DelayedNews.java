// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.VarInsnNode;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.tree.analysis.BasicValue;
import org.objectweb.asm.tree.analysis.Frame;
import org.ukthreads.pico.translate.analyse.Types;

/*
 * The first phase: new Foo(... suspends ...). A frame cannot hold an object that is not yet
 * constructed, so its NEW moves behind the arguments.
 */
final class DelayedNews {
	private final ClassRewriter owner;
	private final MethodNode m;
	private final Predicate<AbstractInsnNode> isSite;
	private final Set<AbstractInsnNode> stuck = new HashSet<>();
	private Frame<BasicValue>[] frames;

	DelayedNews(ClassRewriter owner, MethodNode m, Predicate<AbstractInsnNode> isSite) {
		this.owner = owner;
		this.m = m;
		this.isSite = isSite;
	}

	/** Moves the NEWs, and returns the frames of the changed method. */
	Frame<BasicValue>[] delay() throws AnalyzerException {
		delayNews();
		return frames != null ? frames : Types.of(owner.hierarchy, owner.node.name, m);
	}

	/**
	 * Moves NEW behind the arguments of its constructor if they may suspend. It moves all that it
	 * finds at once: their uses come from the same frames and do not overlap. A method that builds
	 * a large literal has hundreds.
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

	private Set<AbstractInsnNode> pendingNews() throws AnalyzerException {
		Set<AbstractInsnNode> news = new LinkedHashSet<>();
		if (!contains(Opcodes.NEW))
			return news;
		frames = Types.of(owner.hierarchy, owner.node.name, m);
		for (AbstractInsnNode i : m.instructions) {
			if (!isSite.test(i))
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
}
