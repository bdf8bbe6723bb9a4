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

/** A call that may suspend: what it keeps, and where. */
final class Site {
	/** A value to keep: from a local, into a slot of the frame. */
	static final class Saved {
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
	/** The program's try ranges around the call, in their order. */
	final List<TryCatchBlockNode> covered = new ArrayList<>();
	/** See values(). */
	private String values;

	/** Gives each value its slot, and so the frame its shape. */
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

	/** Handlers that read the same locals stand together: one stack-map frame for them. */
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

	/** For the tables: bank and index, name and type of each value. */
	List<String[]> describe() {
		List<String[]> l = new ArrayList<>();
		for (Saved v : saved)
			l.add(new String[] {"" + v.bank + v.index, v.name, v.debugType});
		return l;
	}

	/** For the tables: of the call. */
	char kind() {
		switch (call.getOpcode()) {
		case Opcodes.INVOKESTATIC: return 's';
		case Opcodes.INVOKESPECIAL: return 'p';
		case Opcodes.INVOKEINTERFACE: return 'i';
		default: return 'v';
		}
	}
}
