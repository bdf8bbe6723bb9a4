// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AnnotationNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldNode;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.MethodNode;

/**
 * The access flags of a class's members as compiled. Those that the translation has changed are
 * written into the class for reflection (org.ukthreads.pico.Modifiers). Lambda bodies and other
 * synthetic methods are left out.
 */
public final class Originals {
	private final Map<String, Integer> access = new HashMap<>();

	public static Originals of(byte[] file) {
		ClassNode n = new ClassNode(Opcodes.ASM9);
		new ClassReader(file).accept(n, ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG);
		return new Originals(n);
	}

	Originals(ClassNode n) {
		for (FieldNode f : n.fields)
			access.put(f.name + f.desc, f.access & 0xffff);
		for (MethodNode m : n.methods)
			if ((m.access & Opcodes.ACC_SYNTHETIC) == 0)
				access.put(m.name + m.desc, m.access & 0xffff);
	}

	public void record(ClassNode n) {
		List<String> members = new ArrayList<>();
		List<Integer> flags = new ArrayList<>();
		for (FieldNode f : n.fields)
			compare(f.name, f.desc, f.access, members, flags);
		for (MethodNode m : n.methods)
			if (!m.name.startsWith("<"))
				compare(m.name, m.desc, m.access, members, flags);
		if (members.isEmpty())
			return;
		AnnotationNode was = new AnnotationNode("Lorg/ukthreads/pico/Was;");
		was.values = List.of("members", members, "access", flags);
		MethodNode holder = new MethodNode(Opcodes.ASM9, Opcodes.ACC_PRIVATE
			| Opcodes.ACC_STATIC | Opcodes.ACC_SYNTHETIC, "pico$$was", "()V", null, null);
		holder.instructions.add(new InsnNode(Opcodes.RETURN));
		holder.visibleAnnotations = List.of(was);
		n.methods.add(holder);
	}

	private void compare(String name, String desc, int now, List<String> members,
			List<Integer> flags) {
		Integer was = access.get(name + desc);
		if (was == null || was == (now & 0xffff))
			return;
		members.add(name);
		members.add(desc);
		flags.add(was);
	}
}
