// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.read;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.objectweb.asm.Opcodes;

/** What the hierarchy knows of a class: its header and the access of its methods. */
public final class ClassInfo {
	public enum Kind {
		/** To be translated. */
		PROGRAM,
		/** Translated before, or written by hand: its annotations say what suspends. */
		TRANSLATED,
		/** Everything else. */
		FOREIGN
	}

	public final String name;
	public final String superName;
	public final List<String> interfaces;
	public final int access;
	public final Kind kind;
	/** name + desc to access flags. */
	public final Map<String, Integer> methods = new HashMap<>();
	/** name + desc of the methods that are annotated as suspending. */
	public final Map<String, Boolean> suspends = new HashMap<>();

	public ClassInfo(String name, String superName, List<String> interfaces, int access,
			Kind kind) {
		this.name = name;
		this.superName = superName;
		this.interfaces = interfaces;
		this.access = access;
		this.kind = kind;
	}

	public static String packageOf(String name) {
		int k = name.lastIndexOf('/');
		return k < 0 ? "" : name.substring(0, k);
	}

	public boolean isInterface() {
		return (access & Opcodes.ACC_INTERFACE) != 0;
	}
}
