// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.jar.JarFile;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.ukthreads.pico.Dump;
import org.ukthreads.pico.Jstack;
import org.ukthreads.pico.ForkJoins;
import org.ukthreads.pico.translate.Classes;
import org.ukthreads.pico.translate.Dynamic;
import org.ukthreads.pico.translate.read.ClassPath;

/*
 * The agent: -javaagent:pico.jar[=report]
 *
 * The call graph needs the whole program. So premain translates the class path before main, or
 * takes the translation of an earlier run from the cache. Classes of the program are replaced when
 * they are loaded. New classes (companions, lambdas) go into a temporary jar that is appended to
 * the class path. Those of nested jars go into a second temporary jar, which is added to the
 * launcher's loaders. A class that another loader defines again is left as it is, or, below the
 * class path's loader, translated alone. The JVM refuses a class in a package of a signed jar if
 * the signers differ. So, if there is a signed jar, that check is removed. main itself runs on the
 * JVM's main thread and blocks it. The threads that it makes are pico threads.
 */
public final class Agent {
	private Agent() {}

	public static void premain(String args, Instrumentation inst) throws IOException {
		String path = System.getProperty("java.class.path");
		if (System.getProperty("jdk.module.path") != null) {
			System.err.println("pico: classes on the module path are not translated,"
				+ " their threads are JVM threads; use the class path instead");
			/* An empty class path means no entry here, and not the current folder. */
			if (path.isEmpty())
				return;
		}
		List<String> words = new ArrayList<>(List.of("-cp", path));
		if ("report".equals(args))
			words.add("--report");
		Arguments a = new Arguments(words);
		List<Path> outer = ClassPath.whole(a.path());
		a.wait = Arguments.EVER;
		Classes classes = Translations.of(outer, a);
		Map<String, byte[]> fresh = new HashMap<>();
		Map<String, byte[]> nested = new HashMap<>();
		classes.added().forEach((n, b) ->
			(outer.contains(classes.origin(n)) ? fresh : nested).put(n, b));
		inst.appendToSystemClassLoaderSearch(new JarFile(temporary(fresh).toFile()));
		/* Loaders of nested jars get the second jar after their own jars. */
		Loaders loaders = nested.isEmpty() ? null : new Loaders(inst, temporary(nested));
		inst.addTransformer(new ClassFileTransformer() {
			@Override
			public byte[] transform(ClassLoader l, String name, Class<?> old,
					ProtectionDomain d, byte[] file) {
				byte[] b = name == null ? null : classes.changed(name);
				if (b == null)
					return isStranger(classes, l, name) ? again(classes, l, file) : null;
				/* The program redefines it. */
				if (old != null)
					return again(classes, l, file);
				if (outer.contains(classes.origin(name)))
					return isOwner(l) ? b : isBelow(l) ? again(classes, l, file) : null;
				return loaders == null || loaders.extended(l) ? b : null;
			}
		});
		org.ukthreads.pico.Loaders.definer(classes.dynamic());
		inst.addTransformer(new ClassFileTransformer() {
			@Override
			public byte[] transform(ClassLoader l, String name, Class<?> old,
					ProtectionDomain d, byte[] file) {
				if (old != null && name != null && classes.origin(name) != null)
					org.ukthreads.pico.Loaders.rewritten(old);
				return null;
			}
		}, true);
		ForkJoins.install();
		for (Path p : classes.paths())
			if (Jars.isSigned(p)) {
				unsigned(inst);
				break;
			}
	}

	/** True: l is the loader of the class path, which also has the companions. */
	private static boolean isOwner(ClassLoader l) {
		return l == Agent.class.getClassLoader() || l == ClassLoader.getSystemClassLoader();
	}

	/** True: l finds the runtime in the loader of the class path. */
	private static boolean isBelow(ClassLoader l) {
		ClassLoader k = l;
		while (k != null && !isOwner(k))
			k = k.getParent();
		return k != null;
	}

	/**
	 * True: a loader below the class path's defines a class that was not translated (a plugin). The
	 * JDK's own classes there carry out reflection.
	 */
	private static boolean isStranger(Classes classes, ClassLoader l, String name) {
		return name != null && !isOwner(l) && isBelow(l) && classes.origin(name) == null
			&& !name.startsWith("jdk/internal/") && !name.startsWith("sun/reflect/");
	}

	/** True: the file was translated, with the program or when it was made. */
	private static boolean isOurs(byte[] file) {
		String s = new String(file, StandardCharsets.ISO_8859_1);
		return s.contains("$$Pico") || s.contains("org/ukthreads/pico/Pins");
	}

	/**
	 * The file of a class of the class path that l, too, defines. The companion belongs to the
	 * class path's, so this one is translated as a class that the program makes.
	 */
	private static byte[] again(Classes classes, ClassLoader l, byte[] file) {
		Dynamic d = classes.dynamic();
		return d == null || isOurs(file) ? null : d.defined(l, file);
	}

	/** Makes ClassLoader.checkCerts return at once. */
	private static void unsigned(Instrumentation inst) {
		ClassFileTransformer t = new ClassFileTransformer() {
			@Override
			public byte[] transform(ClassLoader l, String name, Class<?> old,
					ProtectionDomain d, byte[] file) {
				if (old != ClassLoader.class)
					return null;
				ClassReader r = new ClassReader(file);
				ClassWriter w = new ClassWriter(r, 0);
				r.accept(new ClassVisitor(Opcodes.ASM9, w) {
					@Override
					public MethodVisitor visitMethod(int access, String name, String desc,
							String sig, String[] ex) {
						MethodVisitor m = super.visitMethod(access, name, desc, sig, ex);
						if (!name.equals("checkCerts") || !desc.endsWith(")V"))
							return m;
						m.visitCode();
						m.visitInsn(Opcodes.RETURN);
						m.visitMaxs(0, Type.getArgumentsAndReturnSizes(desc) >> 2);
						m.visitEnd();
						return null;
					}
				}, 0);
				return w.toByteArray();
			}
		};
		inst.addTransformer(t, true);
		try {
			inst.retransformClasses(ClassLoader.class);
		} catch (UnmodifiableClassException e) {
			throw new IllegalStateException(e);
		} finally {
			inst.removeTransformer(t);
		}
	}

	private static Path temporary(Map<String, byte[]> classes) throws IOException {
		Path jar = Files.createTempFile("pico", ".jar");
		jar.toFile().deleteOnExit();
		Jars.write(jar, classes);
		return jar;
	}

	/** The loaders that a launcher makes for the jars in its jar. */
	private static final class Loaders {
		private final Method add;
		private final URL jar;
		private final Map<ClassLoader, Boolean> done
			= Collections.synchronizedMap(new WeakHashMap<>());

		Loaders(Instrumentation inst, Path jar) throws IOException {
			this.jar = jar.toUri().toURL();
			inst.redefineModule(Object.class.getModule(), Set.of(), Map.of(),
				Map.of("java.net", Set.of(Agent.class.getModule())), Set.of(), Map.of());
			try {
				add = URLClassLoader.class.getDeclaredMethod("addURL", URL.class);
				add.setAccessible(true);
			} catch (NoSuchMethodException e) {
				throw new IllegalStateException(e);
			}
		}

		/**
		 * Adds the jar to l once. Returns whether l can find the classes that the translator added.
		 */
		boolean extended(ClassLoader l) {
			return l instanceof URLClassLoader && done.computeIfAbsent(l, k -> {
				try {
					add.invoke(k, jar);
					return true;
				} catch (ReflectiveOperationException e) {
					return false;
				}
			});
		}
	}

	/** Writes a dump. `pico dump` and `pico jstack` load the agent into a running JVM for it. */
	public static void agentmain(String args, Instrumentation inst) throws IOException {
		int k = args.indexOf('=');
		String what = args.substring(0, Math.max(k, 0));
		if (what.equals("dump") || what.equals("jstack"))
			Files.write(Paths.get(args.substring(k + 1)), (what.equals("dump") ? Dump.all()
				: Jstack.all()).getBytes(StandardCharsets.UTF_8));
	}
}
