// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.Deflater;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.MethodNode;

/** Collects the sites of one class and writes its companion `Foo$$Pico`. */
final class Companion {
	private static final String CODE = "org/ukthreads/pico/Code";
	private static final String CHOOSER = "pico$$resume";
	static final String AT_DESC =
		"(Lorg/ukthreads/pico/Capture;Ljava/lang/Object;I)Lorg/ukthreads/pico/Pushes;";
	static final String RESUME_DESC =
		"(Lorg/ukthreads/pico/Continuation;ILorg/ukthreads/pico/Frame;)Z";

	private final ClassNode owner;
	private final Map<String, Integer> pool = new LinkedHashMap<>();
	private final StringBuilder lines = new StringBuilder();
	private final List<String> resumers = new ArrayList<>();
	private int sites;

	Companion(ClassNode owner) {
		this.owner = owner;
	}

	String name() {
		return owner.name + "$$Pico";
	}

	private String str(String s) {
		String clean = s.replace('\n', ' ').replace('\t', ' ');
		int k = pool.computeIfAbsent(clean.isEmpty() ? " " : clean, x -> pool.size());
		return Integer.toString(k, 36);
	}

	/** Starts a method; resumer: its resume code's name, or null. */
	void method(String name, String desc, long hash, String resumer) {
		lines.append("M\t").append(str(name)).append('\t').append(str(desc)).append('\t')
			.append(Long.toString(hash, 36)).append('\n');
		resumers.add(resumer);
	}

	/** Adds a site; the result is its index in the class. */
	int site(int line, char kind, String own, String name, String desc, List<String[]> vars) {
		lines.append("S\t").append(Integer.toString(line, 36)).append('\t').append(kind)
			.append('\t').append(str(own)).append('\t').append(str(name)).append('\t')
			.append(str(desc));
		for (String[] v : vars)
			lines.append('\t').append(v[0]).append('\t').append(str(v[1])).append('\t')
				.append(str(v[2]));
		lines.append('\n');
		return sites++;
	}

	boolean isEmpty() {
		return sites == 0;
	}

	int sites() {
		return sites;
	}

	/** The method that calls the resume code of each method, or null. */
	MethodNode chooser() {
		if (resumers.stream().allMatch(java.util.Objects::isNull))
			return null;
		boolean itf = (owner.access & Opcodes.ACC_INTERFACE) != 0;
		MethodNode m = new MethodNode(Opcodes.ASM9, Opcodes.ACC_STATIC | Opcodes.ACC_SYNTHETIC
			| (itf ? Opcodes.ACC_PUBLIC : 0), CHOOSER, RESUME_DESC, null, null);
		int n = resumers.size();
		Label[] ls = new Label[n];
		for (int k = 0; k < n; k++)
			ls[k] = new Label();
		if (n > 1) {
			m.visitVarInsn(Opcodes.ILOAD, 1);
			m.visitIntInsn(Opcodes.BIPUSH, 16);
			m.visitInsn(Opcodes.ISHR);
			m.visitTableSwitchInsn(0, n - 1, ls[0], ls);
		}
		for (int k = 0; k < n; k++) {
			m.visitLabel(ls[k]);
			m.visitVarInsn(Opcodes.ALOAD, 0);
			if (resumers.get(k) == null) {
				through(m);
				continue;
			}
			m.visitVarInsn(Opcodes.ILOAD, 1);
			m.visitVarInsn(Opcodes.ALOAD, 2);
			m.visitMethodInsn(Opcodes.INVOKESTATIC, owner.name, resumers.get(k), RESUME_DESC,
				itf);
			m.visitInsn(Opcodes.IRETURN);
		}
		m.visitMaxs(3, 3);
		return m;
	}

	/** The callee's result is the method's own: thrown, or left where it is. */
	private static void through(MethodVisitor m) {
		m.visitMethodInsn(Opcodes.INVOKEVIRTUAL, MethodRewriter.CONT, "takeV", "()V", false);
		m.visitInsn(Opcodes.ICONST_1);
		m.visitInsn(Opcodes.IRETURN);
	}

	byte[] write() {
		ClassWriter w = new ClassWriter((owner.access & Opcodes.ACC_INTERFACE) != 0
			? ClassWriter.COMPUTE_FRAMES : ClassWriter.COMPUTE_MAXS);
		w.visit((owner.access & Opcodes.ACC_INTERFACE) != 0 ? Opcodes.V1_8 : Opcodes.V1_5, Opcodes.ACC_FINAL | Opcodes.ACC_SUPER | Opcodes.ACC_SYNTHETIC,
			name(), null, CODE, null);
		w.visitField(Opcodes.ACC_STATIC | Opcodes.ACC_FINAL, "I", "L" + CODE + ";", null, null)
			.visitEnd();
		constructor(w);
		at(w);
		resume(w);
		w.visitEnd();
		return w.toByteArray();
	}

	private void constructor(ClassWriter w) {
		MethodVisitor m = w.visitMethod(Opcodes.ACC_STATIC, "<clinit>", "()V", null, null);
		m.visitCode();
		m.visitTypeInsn(Opcodes.NEW, name());
		m.visitInsn(Opcodes.DUP);
		m.visitMethodInsn(Opcodes.INVOKESPECIAL, name(), "<init>", "()V", false);
		m.visitFieldInsn(Opcodes.PUTSTATIC, name(), "I", "L" + CODE + ";");
		m.visitInsn(Opcodes.RETURN);
		m.visitMaxs(0, 0);
		m.visitEnd();

		m = w.visitMethod(Opcodes.ACC_PRIVATE, "<init>", "()V", null, null);
		m.visitCode();
		m.visitVarInsn(Opcodes.ALOAD, 0);
		m.visitLdcInsn(Type.getObjectType(owner.name));
		tables(m);
		m.visitMethodInsn(Opcodes.INVOKESPECIAL, CODE, "<init>",
			"(Ljava/lang/Class;Ljava/lang/String;)V", false);
		m.visitInsn(Opcodes.RETURN);
		m.visitMaxs(0, 0);
		m.visitEnd();
	}

	/** Writes `at`, which each handler calls first. */
	private void at(ClassWriter w) {
		MethodVisitor m = w.visitMethod(Opcodes.ACC_STATIC, "at", AT_DESC, null, null);
		m.visitCode();
		m.visitFieldInsn(Opcodes.GETSTATIC, name(), "I", "L" + CODE + ";");
		m.visitVarInsn(Opcodes.ALOAD, 0);
		m.visitVarInsn(Opcodes.ALOAD, 1);
		m.visitVarInsn(Opcodes.ILOAD, 2);
		m.visitMethodInsn(Opcodes.INVOKEVIRTUAL, CODE, "check", AT_DESC, false);
		m.visitInsn(Opcodes.ARETURN);
		m.visitMaxs(0, 0);
		m.visitEnd();
	}

	/** Pushes the text, in pieces that fit into constants. */
	private void tables(MethodVisitor m) {
		String t = packed(String.join("\n", pool.keySet()) + "\n\n" + lines);
		int step = 20_000;
		m.visitLdcInsn(t.substring(0, Math.min(step, t.length())));
		for (int k = step; k < t.length(); k += step) {
			m.visitLdcInsn(t.substring(k, Math.min(k + step, t.length())));
			m.visitMethodInsn(Opcodes.INVOKEVIRTUAL, "java/lang/String", "concat",
				"(Ljava/lang/String;)Ljava/lang/String;", false);
		}
	}

	/**
	 * Deflates the text, seven bits to a character (one byte in a class file), if that is shorter.
	 */
	private static String packed(String text) {
		Deflater d = new Deflater(Deflater.BEST_COMPRESSION, true);
		d.setInput(text.getBytes(StandardCharsets.UTF_8));
		d.finish();
		StringBuilder b = new StringBuilder("\1");
		byte[] buf = new byte[4096];
		int bits = 0;
		int have = 0;
		while (!d.finished()) {
			int n = d.deflate(buf);
			for (int k = 0; k < n; k++) {
				bits = bits << 8 | buf[k] & 255;
				for (have += 8; have >= 7; have -= 7)
					b.append((char) (bits >> have - 7 & 127));
			}
		}
		d.end();
		b.append((char) (bits << 7 - have & 127));
		return b.length() < text.length() ? b.toString() : text;
	}

	/*
	 * The companion is a class file of version 49 (it needs only ldc of a class), which has no
	 * stack-map frames: it is smaller, and there is nothing to compute. For an interface it is 52,
	 * the first that may call an interface's static methods.
	 */
	private void resume(ClassWriter w) {
		MethodVisitor m = w.visitMethod(Opcodes.ACC_PROTECTED, "resume", RESUME_DESC, null,
			null);
		m.visitCode();
		m.visitVarInsn(Opcodes.ALOAD, 1);
		if (chooser() == null) {
			through(m);
		} else {
			m.visitVarInsn(Opcodes.ILOAD, 2);
			m.visitVarInsn(Opcodes.ALOAD, 3);
			m.visitMethodInsn(Opcodes.INVOKESTATIC, owner.name, CHOOSER, RESUME_DESC,
				(owner.access & Opcodes.ACC_INTERFACE) != 0);
			m.visitInsn(Opcodes.IRETURN);
		}
		m.visitMaxs(0, 0);
		m.visitEnd();
	}
}
