package org.ukthreads.pico.cli;

import java.io.File;
import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.HashMap;
import java.util.jar.JarFile;
import org.ukthreads.pico.Dump;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/*
 * -javaagent:pico.jar[=report]
 *
 * The call graph needs the whole program, so the class path is translated before main;
 * the classes that the program had are replaced as they are loaded, the new ones
 * (companions, lambdas) go into a temporary jar behind the class path. main itself runs
 * on the JVM's main thread and blocks it; the threads it makes are pico threads.
 */
public final class Agent {
	private Agent() {}

	public static void premain(String args, Instrumentation inst) throws IOException {
		List<Path> path = new ArrayList<>();
		for (String p : System.getProperty("java.class.path").split(File.pathSeparator))
			path.add(Paths.get(p));
		ClassPath program = new ClassPath(ClassPath.whole(path));
		Translator t = Translator.of(program, Main.libraries(List.of()),
			new Translator.Options());
		Map<String, byte[]> classes = t.run();
		Map<String, byte[]> fresh = new HashMap<>(classes);
		fresh.keySet().removeIf(n -> program.entries().containsKey(n + ".class"));
		Path jar = Files.createTempFile("pico", ".jar");
		jar.toFile().deleteOnExit();
		Jars.write(jar, new ClassPath(List.of()), fresh);
		inst.appendToSystemClassLoaderSearch(new JarFile(jar.toFile()));
		inst.addTransformer(new ClassFileTransformer() {
			@Override
			public byte[] transform(ClassLoader l, String name, Class<?> old,
					ProtectionDomain d, byte[] file) {
				return name == null || fresh.containsKey(name) ? null : classes.get(name);
			}
		});
		if ("report".equals(args))
			System.err.print(t.report().text(false));
	}

	/** Loaded into a running JVM by `pico dump`. */
	public static void agentmain(String args, Instrumentation inst) throws IOException {
		if (args.startsWith("dump="))
			Files.write(Paths.get(args.substring(5)),
				Dump.all().getBytes(StandardCharsets.UTF_8));
	}
}
