// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/*
 * Random class files that no compiler writes, but that the verifier accepts: values left on the
 * stack below loops, branches, try blocks and subroutines; dup_x2 and dup2_x2 over calls; objects
 * on the stack and in locals that are not constructed yet; locals that change their type and
 * overlap half of an old long; jsr and ret (version 49).
 *
 * The generator knows the stack at each point (`stack`: I J F D A, or U and a number for the result
 * of a NEW). A piece of code that must be balanced ends with the stack that it began with. All
 * methods call downwards and use up fuel, so each program ends. All values go into one hash.
 */
final class Bytecodes implements Opcodes {
	static final int METHODS = 6;
	private static final String OBJECT = "java/lang/Object";
	private final Random r;
	private final String name;
	private final int version;
	private final List<String> stack = new ArrayList<>();
	/** The part of the stack below `stack`, which a balanced piece must not touch. */
	private final List<String> under = new ArrayList<>();
	/**
	 * By slot; null means that nothing there is usable. A wide value has "-" in its second slot.
	 */
	private final List<String> locals = new ArrayList<>();
	/** If positive, no local may change its type, because of a backward branch or a merge. */
	private int steady;
	private final String[] descs = new String[METHODS];
	private MethodVisitor m;
	private int method;
	private int budget;
	private int uninit;
	private final Map<String, Label> subroutines = new HashMap<>();
	private final List<Runnable> tails = new ArrayList<>();

	Bytecodes(long seed, String name) {
		r = new Random(seed);
		this.name = name;
		version = new int[] {V1_5, V1_8, V17}[r.nextInt(3)];
	}

	byte[] make() {
		ClassWriter w = new ClassWriter(ClassWriter.COMPUTE_FRAMES) {
			@Override
			protected String getCommonSuperClass(String a, String b) {
				return a.equals(b) ? a : OBJECT;
			}
		};
		if (version == V1_5)
			w = new ClassWriter(ClassWriter.COMPUTE_MAXS);
		w.visit(version, ACC_PUBLIC | ACC_SUPER, name, null, OBJECT, null);
		w.visitField(ACC_STATIC, "h", "J", null, null);
		w.visitField(ACC_STATIC, "fuel", "I", null, null);
		w.visitField(ACC_FINAL, "v", "J", null, null);
		w.visitField(ACC_FINAL, "o", "L" + OBJECT + ";", null, null);
		helpers(w);
		for (int k = 0; k < METHODS; k++) {
			StringBuilder b = new StringBuilder("(");
			for (int n = r.nextInt(5); n > 0; n--)
				b.append(desc(type()));
			descs[k] = b + ")" + desc(type());
		}
		for (int k = METHODS - 1; k >= 0; k--)
			method(w, k);
		main(w);
		w.visitEnd();
		return w.toByteArray();
	}

	private static String desc(String t) {
		return t.equals("A") ? "L" + OBJECT + ";" : t;
	}

	private String type() {
		return "IJFDA".substring(r.nextInt(5)).substring(0, 1);
	}

	private static boolean isWide(String t) {
		return t.equals("J") || t.equals("D");
	}

	private static boolean isUninit(String t) {
		return t.startsWith("U");
	}

	/* --- what every program has --- */

	private void helpers(ClassWriter w) {
		m = w.visitMethod(0, "<init>", "(JL" + OBJECT + ";)V", null, null);
		m.visitVarInsn(ALOAD, 0);
		m.visitMethodInsn(INVOKESPECIAL, OBJECT, "<init>", "()V", false);
		m.visitVarInsn(ALOAD, 0);
		m.visitVarInsn(LLOAD, 1);
		m.visitFieldInsn(PUTFIELD, name, "v", "J");
		m.visitVarInsn(ALOAD, 0);
		m.visitVarInsn(ALOAD, 3);
		m.visitFieldInsn(PUTFIELD, name, "o", "L" + OBJECT + ";");
		m.visitInsn(RETURN);
		end();
		m = w.visitMethod(ACC_PUBLIC, "toString", "()Ljava/lang/String;", null, null);
		m.visitVarInsn(ALOAD, 0);
		m.visitFieldInsn(GETFIELD, name, "v", "J");
		m.visitMethodInsn(INVOKESTATIC, "java/lang/Long", "toString",
			"(J)Ljava/lang/String;", false);
		m.visitInsn(ARETURN);
		end();
		/*
		 * mix(long) is the base of the other kinds. A call of mix(Object) may suspend under chaos.
		 */
		m = w.visitMethod(ACC_STATIC, "mix", "(J)V", null, null);
		m.visitFieldInsn(GETSTATIC, name, "h", "J");
		m.visitLdcInsn(31L);
		m.visitInsn(LMUL);
		m.visitVarInsn(LLOAD, 0);
		m.visitInsn(LADD);
		m.visitFieldInsn(PUTSTATIC, name, "h", "J");
		m.visitInsn(RETURN);
		end();
		m = w.visitMethod(ACC_STATIC, "mix", "(L" + OBJECT + ";)V", null, null);
		m.visitVarInsn(ALOAD, 0);
		m.visitMethodInsn(INVOKESTATIC, "java/lang/String", "valueOf",
			"(L" + OBJECT + ";)Ljava/lang/String;", false);
		m.visitMethodInsn(INVOKEVIRTUAL, "java/lang/String", "hashCode", "()I", false);
		m.visitInsn(I2L);
		m.visitMethodInsn(INVOKESTATIC, name, "mix", "(J)V", false);
		m.visitInsn(RETURN);
		end();
		m = w.visitMethod(ACC_STATIC, "div", "(II)I", null, null);
		m.visitVarInsn(ILOAD, 0);
		m.visitVarInsn(ILOAD, 1);
		m.visitInsn(ICONST_3);
		m.visitInsn(IREM);
		m.visitInsn(IDIV);
		m.visitInsn(IRETURN);
		end();
		m = w.visitMethod(ACC_STATIC, "go", "()Z", null, null);
		m.visitFieldInsn(GETSTATIC, name, "fuel", "I");
		m.visitInsn(ICONST_1);
		m.visitInsn(ISUB);
		m.visitInsn(DUP);
		m.visitFieldInsn(PUTSTATIC, name, "fuel", "I");
		Label no = new Label();
		m.visitJumpInsn(IFLE, no);
		m.visitInsn(ICONST_1);
		m.visitInsn(IRETURN);
		m.visitLabel(no);
		m.visitInsn(ICONST_0);
		m.visitInsn(IRETURN);
		end();
	}

	private void end() {
		m.visitMaxs(0, 0);
		m.visitEnd();
	}

	private void main(ClassWriter w) {
		m = w.visitMethod(ACC_PUBLIC | ACC_STATIC, "main", "([Ljava/lang/String;)V", null,
			null);
		m.visitLdcInsn(3000);
		m.visitFieldInsn(PUTSTATIC, name, "fuel", "I");
		Label a = new Label();
		Label b = new Label();
		Label c = new Label();
		Label on = new Label();
		m.visitTryCatchBlock(a, b, c, "java/lang/RuntimeException");
		m.visitLabel(a);
		stack.clear();
		for (Type t : Type.getArgumentTypes(descs[0]))
			constant(letter(t));
		m.visitMethodInsn(INVOKESTATIC, name, "m0", descs[0], false);
		stack.clear();
		stack.add(letter(Type.getReturnType(descs[0])));
		mixTop();
		m.visitLabel(b);
		m.visitJumpInsn(GOTO, on);
		m.visitLabel(c);
		m.visitMethodInsn(INVOKEVIRTUAL, OBJECT, "getClass", "()Ljava/lang/Class;", false);
		m.visitMethodInsn(INVOKEVIRTUAL, "java/lang/Class", "getName",
			"()Ljava/lang/String;", false);
		m.visitMethodInsn(INVOKESTATIC, name, "mix", "(L" + OBJECT + ";)V", false);
		m.visitLabel(on);
		m.visitFieldInsn(GETSTATIC, "java/lang/System", "out", "Ljava/io/PrintStream;");
		m.visitFieldInsn(GETSTATIC, name, "h", "J");
		m.visitMethodInsn(INVOKEVIRTUAL, "java/io/PrintStream", "println", "(J)V", false);
		m.visitInsn(RETURN);
		end();
	}

	private static String letter(Type t) {
		return t.getSort() == Type.OBJECT ? "A" : t.getDescriptor();
	}

	private void method(ClassWriter w, int k) {
		m = w.visitMethod(ACC_STATIC | (r.nextInt(8) == 0 ? ACC_SYNCHRONIZED : 0), "m" + k,
			descs[k], null, null);
		method = k;
		stack.clear();
		locals.clear();
		subroutines.clear();
		tails.clear();
		steady = 0;
		budget = 60;
		String ret = letter(Type.getReturnType(descs[k]));
		for (Type t : Type.getArgumentTypes(descs[k]))
			local(letter(t));
		Label go = new Label();
		m.visitMethodInsn(INVOKESTATIC, name, "go", "()Z", false);
		m.visitJumpInsn(IFNE, go);
		constant(ret);
		m.visitInsn(Type.getReturnType(descs[k]).getOpcode(IRETURN));
		pop();
		m.visitLabel(go);
		while (budget > 0)
			piece(2);
		while (!stack.isEmpty())
			mixTop();
		value(ret);
		m.visitInsn(Type.getReturnType(descs[k]).getOpcode(IRETURN));
		pop();
		for (int t = 0; t < tails.size(); t++)
			tails.get(t).run();
		end();
	}

	/* --- the stack and the locals as they are known --- */

	private String top() {
		return stack.get(stack.size() - 1);
	}

	private String at(int below) {
		return stack.get(stack.size() - 1 - below);
	}

	private String pop() {
		return stack.remove(stack.size() - 1);
	}

	private void push(String t) {
		stack.add(t);
	}

	private int local(String t) {
		int k = locals.size();
		locals.add(t);
		if (isWide(t))
			locals.add("-");
		return k;
	}

	private static int op(String t, int forInt) {
		return Type.getType(t.equals("A") || isUninit(t) ? "L" + OBJECT + ";" : t)
			.getOpcode(forInt);
	}

	private void store(int k, String t) {
		while (locals.size() < k + 2)
			locals.add(null);
		if ("-".equals(locals.get(k)))
			locals.set(k - 1, null);
		for (int j = k; j <= (isWide(t) ? k + 1 : k); j++)
			if (locals.get(j) != null && isWide(locals.get(j)))
				locals.set(j + 1, null);
		locals.set(k, t);
		if (isWide(t))
			locals.set(k + 1, "-");
	}

	/* --- pieces of code --- */

	private void piece(int nest) {
		budget--;
		int kind = r.nextInt(nest > 0 ? 22 : 14);
		switch (kind) {
		case 0: case 1: case 2:
			value(type());
			break;
		case 3: case 4:
			shuffle();
			break;
		case 5:
			store();
			break;
		case 6:
			if (!stack.isEmpty() && !isUninit(top()))
				mixTop();
			break;
		case 7: case 8:
			call();
			break;
		case 9:
			operate();
			break;
		case 10: case 11:
			fresh(nest);
			break;
		case 12:
			if (!stack.isEmpty() && !isUninit(top())) {
				m.visitInsn(isWide(top()) ? POP2 : POP);
				pop();
			}
			break;
		case 13:
			array();
			break;
		case 14: case 15:
			branch(nest);
			break;
		case 16: case 17:
			loop(nest);
			break;
		case 18: case 19:
			attempt(nest);
			break;
		case 20:
			if (version == V1_5)
				subroutine(nest);
			else
				lock(nest);
			break;
		default:
			select(nest);
			break;
		}
	}

	/** Makes pieces that leave the stack as it is, and do not touch what is below. */
	private void balanced(int n, int nest) {
		steady++;
		List<String> below = new ArrayList<>(stack);
		under.addAll(below);
		stack.clear();
		for (int k = 0; k < n && budget > -40; k++)
			piece(nest - 1);
		while (!stack.isEmpty())
			if (isUninit(top()))
				drop();
			else
				mixTop();
		stack.addAll(below);
		under.subList(under.size() - below.size(), under.size()).clear();
		steady--;
	}

	private void drop() {
		m.visitInsn(isWide(pop()) ? POP2 : POP);
	}

	private void constant(String t) {
		switch (t) {
		case "I": m.visitLdcInsn(r.nextInt(100) - 50); break;
		case "J": m.visitLdcInsn((long) r.nextInt(1000) << r.nextInt(30)); break;
		case "F": m.visitLdcInsn(r.nextInt(100) / 4f); break;
		case "D": m.visitLdcInsn(r.nextInt(1000) / 8d); break;
		default:
			if (r.nextInt(5) == 0)
				m.visitInsn(ACONST_NULL);
			else
				m.visitLdcInsn("s" + r.nextInt(9));
		}
		push(t);
	}

	private void value(String t) {
		List<Integer> l = new ArrayList<>();
		for (int k = 0; k < locals.size(); k++)
			if (t.equals(locals.get(k)))
				l.add(k);
		if (!l.isEmpty() && r.nextInt(3) > 0) {
			m.visitVarInsn(op(t, ILOAD), l.get(r.nextInt(l.size())));
			push(t);
			return;
		}
		List<Integer> ms = new ArrayList<>();
		for (int k = method + 1; k < METHODS; k++)
			if (letter(Type.getReturnType(descs[k])).equals(t))
				ms.add(k);
		if (!ms.isEmpty() && r.nextInt(3) == 0 && budget > 0) {
			budget -= 2;
			call(ms.get(r.nextInt(ms.size())), false);
			return;
		}
		constant(t);
	}

	private void call() {
		if (method + 1 < METHODS)
			call(method + 1 + r.nextInt(METHODS - method - 1), true);
	}

	/** If take is true, matching arguments that are already on the stack are used. */
	private void call(int k, boolean take) {
		Type[] args = Type.getArgumentTypes(descs[k]);
		int ready = 0;
		for (int n = take ? Math.min(args.length, stack.size()) : 0; n > 0 && ready == 0;
				n--) {
			ready = n;
			for (int j = 0; j < n; j++)
				if (!at(n - 1 - j).equals(letter(args[j])))
					ready = 0;
		}
		for (int j = ready; j < args.length; j++)
			if (r.nextInt(4) == 0)
				value(letter(args[j]));
			else
				simple(letter(args[j]));
		m.visitMethodInsn(INVOKESTATIC, name, "m" + k, descs[k], false);
		for (int j = 0; j < args.length; j++)
			pop();
		push(letter(Type.getReturnType(descs[k])));
	}

	private void simple(String t) {
		int b = budget;
		budget = 0;
		value(t);
		budget = b;
	}

	private void mixTop() {
		switch (top()) {
		case "I": m.visitInsn(I2L); break;
		case "F": m.visitMethodInsn(INVOKESTATIC, "java/lang/Float", "floatToIntBits", "(F)I",
			false); m.visitInsn(I2L); break;
		case "D": m.visitMethodInsn(INVOKESTATIC, "java/lang/Double", "doubleToLongBits",
			"(D)J", false); break;
		default: break;
		}
		m.visitMethodInsn(INVOKESTATIC, name, "mix", top().equals("A") ? "(L" + OBJECT + ";)V"
			: "(J)V", false);
		pop();
	}

	/** Makes any dup, swap or pop that fits the stack. */
	private void shuffle() {
		int n = stack.size();
		boolean w0 = n > 0 && isWide(top());
		boolean w1 = n > 1 && isWide(at(1));
		boolean w2 = n > 2 && isWide(at(2));
		boolean w3 = n > 3 && isWide(at(3));
		List<int[]> l = new ArrayList<>();
		/* The opcode, how many values it copies, and below how many it puts them. */
		if (n > 0 && !w0)
			l.add(new int[] {DUP, 1, 0});
		if (n > 0 && w0)
			l.add(new int[] {DUP2, 1, 0});
		if (n > 1 && !w0 && !w1) {
			l.add(new int[] {DUP2, 2, 0});
			l.add(new int[] {DUP_X1, 1, 1});
			l.add(new int[] {SWAP, 0, 0});
		}
		if (n > 1 && !w0 && w1)
			l.add(new int[] {DUP_X2, 1, 1});
		if (n > 2 && !w0 && !w1 && !w2) {
			l.add(new int[] {DUP_X2, 1, 2});
			l.add(new int[] {DUP2_X1, 2, 1});
		}
		if (n > 1 && w0 && !w1)
			l.add(new int[] {DUP2_X1, 1, 1});
		if (n > 1 && w0 && w1)
			l.add(new int[] {DUP2_X2, 1, 1});
		if (n > 2 && w0 && !w1 && !w2)
			l.add(new int[] {DUP2_X2, 1, 2});
		if (n > 2 && !w0 && !w1 && w2)
			l.add(new int[] {DUP2_X2, 2, 1});
		if (n > 3 && !w0 && !w1 && !w2 && !w3)
			l.add(new int[] {DUP2_X2, 2, 2});
		if (l.isEmpty() || n > 12)
			return;
		int[] o = l.get(r.nextInt(l.size()));
		m.visitInsn(o[0]);
		if (o[0] == SWAP) {
			String a = pop();
			String b = pop();
			push(a);
			push(b);
			return;
		}
		List<String> copied = new ArrayList<>(stack.subList(n - o[1], n));
		stack.addAll(n - o[1] - o[2], copied);
	}

	/**
	 * Stores into a local: an old one of the same type, a new one, or over the halves of others.
	 */
	private void store() {
		if (stack.isEmpty() || isUninit(top()) && steady > 0)
			return;
		String t = pop();
		List<Integer> l = new ArrayList<>();
		for (int k = 0; k < locals.size(); k++)
			if (t.equals(locals.get(k)))
				l.add(k);
		int k;
		if (!l.isEmpty() && r.nextInt(3) > 0)
			k = l.get(r.nextInt(l.size()));
		else if (steady > 0 || locals.isEmpty() || locals.size() < 8 && r.nextBoolean())
			k = steady > 0 && !l.isEmpty() ? l.get(0) : steady > 0 ? -1 : local(t);
		else
			k = r.nextInt(locals.size());
		if (k < 0) {
			/* Two branches meet behind this: a slot that nobody reads later. */
			m.visitVarInsn(op(t, ISTORE), 200);
			return;
		}
		m.visitVarInsn(op(t, ISTORE), k);
		store(k, t);
	}

	private void operate() {
		int n = stack.size();
		if (n == 0 || isUninit(top()))
			return;
		String a = top();
		if (n > 1 && at(1).equals(a) && !a.equals("A")) {
			if (a.equals("I") && r.nextInt(3) == 0)
				m.visitMethodInsn(INVOKESTATIC, name, "div", "(II)I", false);
			else
				m.visitInsn(op(a, new int[] {IADD, ISUB, IMUL}[r.nextInt(3)]));
			pop();
			return;
		}
		pop();
		switch (a) {
		case "I": m.visitInsn(new int[] {I2L, I2F, I2D, INEG}[n = r.nextInt(4)]);
			push("JFDI".substring(n, n + 1)); break;
		case "J": m.visitInsn(new int[] {L2I, L2D, LNEG}[n = r.nextInt(3)]);
			push("IDJ".substring(n, n + 1)); break;
		case "F": m.visitInsn(new int[] {F2I, F2D, FNEG}[n = r.nextInt(3)]);
			push("IDF".substring(n, n + 1)); break;
		case "D": m.visitInsn(new int[] {D2I, D2L, DNEG}[n = r.nextInt(3)]);
			push("IJD".substring(n, n + 1)); break;
		default:
			m.visitTypeInsn(INSTANCEOF, r.nextBoolean() ? "java/lang/String" : name);
			push("I");
		}
	}

	/**
	 * Makes a NEW, other code (with calls) while the object is on the stack or in a local, and its
	 * <init>.
	 */
	private void fresh(int nest) {
		String u = "U" + uninit++;
		m.visitTypeInsn(NEW, name);
		push(u);
		int copies = 1;
		if (r.nextInt(4) > 0) {
			m.visitInsn(DUP);
			push(u);
			copies++;
			if (r.nextInt(4) == 0) {
				m.visitInsn(DUP);
				push(u);
				copies++;
			}
		}
		int in = -1;
		if (copies > 1 && steady == 0 && r.nextInt(4) == 0) {
			in = locals.size();
			m.visitVarInsn(ASTORE, in);
			pop();
			local(u);
			if (r.nextBoolean()) {
				balanced(2, 1);
				m.visitVarInsn(ALOAD, in);
				push(u);
			} else {
				m.visitVarInsn(ALOAD, in);
				push(u);
			}
		}
		if (r.nextInt(3) == 0)
			balanced(1 + r.nextInt(2), 1);
		value("J");
		value("A");
		if (r.nextInt(4) == 0)
			balanced(1, 1);
		m.visitMethodInsn(INVOKESPECIAL, name, "<init>", "(JL" + OBJECT + ";)V", false);
		pop();
		pop();
		pop();
		stack.replaceAll(t -> t.equals(u) ? "A" : t);
		locals.replaceAll(t -> u.equals(t) ? "A" : t);
	}

	private void array() {
		m.visitInsn(ICONST_3);
		String t = type();
		if (t.equals("A"))
			m.visitTypeInsn(ANEWARRAY, OBJECT);
		else
			m.visitIntInsn(NEWARRAY, t.equals("I") ? T_INT : t.equals("J") ? T_LONG
				: t.equals("F") ? T_FLOAT : T_DOUBLE);
		m.visitInsn(DUP);
		m.visitInsn(ICONST_1);
		push("A");
		push("A");
		push("I");
		value(t);
		m.visitInsn(op(t, IASTORE));
		pop();
		pop();
		pop();
		m.visitInsn(ICONST_1);
		m.visitInsn(op(t, IALOAD));
		pop();
		push(t);
	}

	private List<String> all() {
		List<String> l = new ArrayList<>(under);
		l.addAll(stack);
		return l;
	}

	private boolean hasUninit() {
		for (String t : all())
			if (isUninit(t))
				return true;
		for (String t : locals)
			if (t != null && isUninit(t))
				return true;
		return false;
	}

	private void branch(int nest) {
		Label no = new Label();
		Label on = new Label();
		value("I");
		m.visitInsn(ICONST_1);
		m.visitInsn(IAND);
		m.visitJumpInsn(IFEQ, no);
		pop();
		balanced(1 + r.nextInt(3), nest);
		String t = type();
		value(t);
		m.visitJumpInsn(GOTO, on);
		pop();
		m.visitLabel(no);
		balanced(r.nextInt(3), nest);
		value(t);
		m.visitLabel(on);
	}

	private void loop(int nest) {
		if (hasUninit())
			return;
		int k = 100 + 2 * (50 - nest) + r.nextInt(2);
		m.visitInsn(ICONST_0);
		m.visitVarInsn(ISTORE, k);
		Label head = new Label();
		Label out = new Label();
		m.visitLabel(head);
		m.visitVarInsn(ILOAD, k);
		m.visitLdcInsn(1 + r.nextInt(3));
		m.visitJumpInsn(IF_ICMPGE, out);
		m.visitMethodInsn(INVOKESTATIC, name, "go", "()Z", false);
		m.visitJumpInsn(IFEQ, out);
		balanced(1 + r.nextInt(4), nest);
		m.visitIincInsn(k, 1);
		m.visitJumpInsn(GOTO, head);
		m.visitLabel(out);
	}

	/** Makes a try block. Its handler loses the stack, and pushes other values. */
	private void attempt(int nest) {
		if (hasUninit())
			return;
		Label a = new Label();
		Label b = new Label();
		Label c = new Label();
		Label on = new Label();
		boolean all = r.nextInt(4) == 0;
		m.visitTryCatchBlock(a, b, c, all ? null : "java/lang/RuntimeException");
		m.visitLabel(a);
		balanced(2 + r.nextInt(3), nest);
		simple("I");
		simple("I");
		m.visitMethodInsn(INVOKESTATIC, name, "div", "(II)I", false);
		pop();
		mixTop();
		m.visitLabel(b);
		m.visitJumpInsn(GOTO, on);
		m.visitLabel(c);
		List<String> was = new ArrayList<>(stack);
		stack.clear();
		m.visitInsn(POP);
		for (String t : under)
			simple(t);
		stack.clear();
		for (String t : was)
			simple(t);
		balanced(1, nest);
		m.visitLabel(on);
	}

	private void lock(int nest) {
		int k = 190 + nest;
		Label a = new Label();
		Label b = new Label();
		Label c = new Label();
		Label on = new Label();
		if (hasUninit())
			return;
		m.visitTryCatchBlock(a, b, c, null);
		m.visitLdcInsn(Type.getObjectType(name));
		m.visitInsn(DUP);
		m.visitVarInsn(ASTORE, k);
		m.visitInsn(MONITORENTER);
		m.visitLabel(a);
		balanced(1 + r.nextInt(3), nest);
		m.visitVarInsn(ALOAD, k);
		m.visitInsn(MONITOREXIT);
		m.visitLabel(b);
		m.visitJumpInsn(GOTO, on);
		m.visitLabel(c);
		m.visitVarInsn(ALOAD, k);
		m.visitInsn(MONITOREXIT);
		m.visitInsn(ATHROW);
		m.visitLabel(on);
	}

	private void select(int nest) {
		value("I");
		m.visitInsn(ICONST_3);
		m.visitInsn(IAND);
		pop();
		Label[] to = {new Label(), new Label(), new Label()};
		Label other = new Label();
		Label on = new Label();
		m.visitTableSwitchInsn(0, 2, other, to);
		for (Label l : to) {
			m.visitLabel(l);
			balanced(1, nest);
			if (r.nextBoolean())
				m.visitJumpInsn(GOTO, on);
		}
		m.visitLabel(other);
		balanced(1, nest);
		m.visitLabel(on);
	}

	/**
	 * Makes a jsr with the stack as it is. Two calls with the same stack may share a subroutine.
	 */
	private void subroutine(int nest) {
		if (hasUninit())
			return;
		Label known = subroutines.get(all().toString());
		if (known != null) {
			m.visitJumpInsn(JSR, known);
			return;
		}
		Label s = new Label();
		subroutines.put(all().toString(), s);
		m.visitJumpInsn(JSR, s);
		List<String> was = all();
		int k = 180 + r.nextInt(3) * 2 + (tails.size() & 1);
		tails.add(() -> {
			m.visitLabel(s);
			m.visitVarInsn(ASTORE, k);
			stack.clear();
			stack.addAll(was);
			locals.clear();
			subroutines.clear();
			balanced(2 + r.nextInt(2), 1);
			m.visitVarInsn(RET, k);
		});
	}
}
