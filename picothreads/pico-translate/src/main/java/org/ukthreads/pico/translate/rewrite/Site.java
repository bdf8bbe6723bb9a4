// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.TryCatchBlockNode;

/** A call that may suspend: which values it saves, and where. */
final class Site {
	/** A value to save: from a local into a slot of the frame. */
	static final class Saved {
		final int local;
		final Type type;
		/** The slot in the frame: i, j or a, and the index. */
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

	MethodInsnNode call;
	/** The local of the receiver at the call; -1: not needed. */
	int receiver = -1;
	final List<Saved> saved = new ArrayList<>();
	/** Locals known to hold null, which are restored as null. */
	final List<Integer> nulls = new ArrayList<>();
	/** The sizes of the values below the receiver, bottom first. */
	final List<Integer> sizes = new ArrayList<>();
	/** How to push the values below the arguments, bottom first. */
	final List<AbstractInsnNode> below = new ArrayList<>();
	Shape shape;
	int index;
	/** The call is the last act of a glue method: no frame. */
	boolean tail;
	/** The program's try ranges around the call, in their order. */
	final List<TryCatchBlockNode> covered = new ArrayList<>();
	/** See values(). */
	private String values;

	/** Assigns the slots, and with them the frame's shape. */
	void assign() {
		int i = 0;
		int j = 0;
		int a = 0;
		for (Saved v : saved) {
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
		shape = new Shape(i, j, a);
	}

	/** Key: handlers that read the same locals are adjacent and share a stack-map frame. */
	String values() {
		if (values == null) {
			TreeMap<Integer, String> m = new TreeMap<>();
			m.put(receiver, "");
			for (Saved v : saved)
				m.put(v.local, v.type.getDescriptor());
			values = m.toString();
		}
		return values;
	}

	/** For the tables: slot, name and type of each value. */
	List<String[]> describe() {
		List<String[]> l = new ArrayList<>();
		for (Saved v : saved)
			l.add(new String[] {"" + v.bank + v.index, v.name, v.debugType});
		return l;
	}

	/** For the tables: the kind of the call. */
	char kind() {
		switch (call.getOpcode()) {
		case Opcodes.INVOKESTATIC: return 's';
		case Opcodes.INVOKESPECIAL: return 'p';
		case Opcodes.INVOKEINTERFACE: return 'i';
		default: return 'v';
		}
	}
}
