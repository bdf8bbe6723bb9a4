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
import org.ukthreads.pico.translate.Classes;
import org.ukthreads.pico.translate.read.ClassPath;

/*
 * -javaagent:pico.jar[=report]
 *
 * The call graph needs the whole program, so the class path is translated before main, or was by
 * an earlier run;
 * the classes that the program had are replaced as they are loaded, the new ones
 * (companions, lambdas) go into a temporary jar behind the class path, those of jars in a
 * jar behind what the launcher's loader has. Beside classes of a signed jar the JVM takes
 * only such as have the same signers: that check is taken out where there is one. main itself
 * runs on the JVM's main thread and blocks it; the threads it makes are pico threads.
 */
public final class Agent {
	private Agent() {}

	public static void premain(String args, Instrumentation inst) throws IOException {
		String path = System.getProperty("java.class.path");
		if (System.getProperty("jdk.module.path") != null) {
			System.err.println("pico: what is on the module path is not translated,"
				+ " its threads are the JVM's; give it as a class path");
			/* None, and not the current folder. */
			if (path.isEmpty())
				return;
		}
		List<String> words = new ArrayList<>(List.of("-cp", path));
		if ("report".equals(args))
			words.add("--report");
		Arguments a = new Arguments(words);
		List<Path> outer = ClassPath.whole(a.path());
		Classes classes = Translations.of(outer, a);
		Map<String, byte[]> fresh = new HashMap<>();
		Map<String, byte[]> nested = new HashMap<>();
		classes.added().forEach((n, b) ->
			(outer.contains(classes.origin(n)) ? fresh : nested).put(n, b));
		inst.appendToSystemClassLoaderSearch(new JarFile(temporary(fresh).toFile()));
		/* Loaders of nested jars get theirs behind what they have. */
		Loaders loaders = nested.isEmpty() ? null : new Loaders(inst, temporary(nested));
		inst.addTransformer(new ClassFileTransformer() {
			@Override
			public byte[] transform(ClassLoader l, String name, Class<?> old,
					ProtectionDomain d, byte[] file) {
				byte[] b = name == null ? null : classes.changed(name);
				if (loaders != null && b != null && !outer.contains(classes.origin(name)))
					return loaders.extended(l) ? b : null;
				return b;
			}
		});
		for (Path p : classes.paths())
			if (Jars.isSigned(p)) {
				unsigned(inst);
				break;
			}
	}

	/** Takes the body out of ClassLoader.checkCerts. */
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

		/** Can it find what the translator added? */
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

	/** Loaded into a running JVM by `pico dump`. */
	public static void agentmain(String args, Instrumentation inst) throws IOException {
		if (args.startsWith("dump="))
			Files.write(Paths.get(args.substring(5)),
				Dump.all().getBytes(StandardCharsets.UTF_8));
	}
}
