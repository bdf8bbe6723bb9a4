// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate;

import java.io.IOException;
import java.io.InputStream;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.ClassNode;
import org.ukthreads.pico.Loaders;
import org.ukthreads.pico.translate.analyse.Replacements;
import org.ukthreads.pico.translate.read.ClassInfo;
import org.ukthreads.pico.translate.read.ClassPath;
import org.ukthreads.pico.translate.read.Hierarchy;
import org.ukthreads.pico.translate.rewrite.Pinned;

/**
 * Translates classes that a program makes at run time (scripts, proxies, accessors): the
 * replacement rules hold in them, too, and they pin (see Pinned). The whole-program analysis is
 * over by then, so each class is translated alone, when it is defined. A class that cannot be
 * translated is left as it is, and an error message says so.
 */
public final class Dynamic implements Loaders.Definer {
	private static final int MANY = 20_000;
	private final List<String> rules;
	private final Set<String> ours;
	/** The classes made so far, for those that extend them: no loader has their files. */
	private final Map<String, ClassInfo> made = Collections.synchronizedMap(
		new LinkedHashMap<>() {
			@Override
			protected boolean removeEldestEntry(Map.Entry<String, ClassInfo> e) {
				return size() > MANY;
			}
		});
	private Hierarchy hierarchy;
	private Replacements replacements;
	private ClassLoader loader;

	/** rules: the libraries' rules; ours: the types whose locks are ours. */
	public Dynamic(List<String> rules, Set<String> ours) {
		this.rules = rules;
		this.ours = ours;
	}

	@Override
	public byte[] defined(ClassLoader by, byte[] file) {
		try {
			return translate(by, file);
		} catch (Exception | LinkageError | StackOverflowError e) {
			System.err.println("pico: not translated: a class that " + by + " defines: " + e);
			return file;
		}
	}

	private synchronized byte[] translate(ClassLoader by, byte[] file) throws Exception {
		ClassReader r = new ClassReader(file);
		String name = r.getClassName();
		if (ClassPath.isPico(name) || Build.isTranslated(file))
			return file;
		if (by != loader || hierarchy == null) {
			loader = by;
			hierarchy = new Hierarchy(n -> find(by, n));
			made.values().forEach(hierarchy::add);
			replacements = new Replacements(hierarchy);
			rules.forEach(replacements::read);
		}
		ClassNode n = new ClassNode(Opcodes.ASM9);
		r.accept(n, 0);
		ClassInfo c = new ClassInfo(name, r.getSuperName(), List.of(r.getInterfaces()),
			r.getAccess(), ClassInfo.Kind.FOREIGN);
		n.methods.forEach(m -> c.methods.put(m.name + m.desc, m.access));
		made.put(name, c);
		hierarchy.add(c);
		replacements.apply(n);
		return new Pinned(n, hierarchy, replacements, ours).write();
	}

	private static byte[] find(ClassLoader by, String name) {
		for (ClassLoader l : new ClassLoader[] {by, Dynamic.class.getClassLoader()}) {
			if (l == null)
				continue;
			try (InputStream in = l.getResourceAsStream(name + ".class")) {
				if (in != null)
					return in.readAllBytes();
			} catch (IOException e) {
				continue;
			}
		}
		return null;
	}
}
