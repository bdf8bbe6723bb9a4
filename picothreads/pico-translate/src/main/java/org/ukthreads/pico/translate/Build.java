package org.ukthreads.pico.translate;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.zip.CRC32;
import org.objectweb.asm.ClassReader;
import org.ukthreads.pico.translate.read.ClassPath;

/**
 * Translates a library of ours during its build: a folder of classes, in place, marked
 * so that programs can be translated against it. Classes that were translated by an
 * earlier run stay as they are.
 */
public final class Build {
	private Build() {}

	/** Arguments: the folder, and the class path that it was compiled with. */
	public static void main(String[] args) throws IOException {
		Path dir = Paths.get(args[0]);
		List<Path> path = new ArrayList<>();
		for (String p : args[1].split(File.pathSeparator))
			if (!Paths.get(p).equals(dir))
				path.add(Paths.get(p));
		Translator.Options o = new Translator.Options();
		o.library = true;
		o.verify = true;
		System.out.print(inPlace(dir, path, o).text(Boolean.getBoolean("pico.details")));
	}

	/** Translates a folder of classes in place. */
	public static Report inPlace(Path dir, List<Path> path, Translator.Options o)
			throws IOException {
		ClassPath program = new ClassPath(List.of(dir));
		ClassPath libraries = new ClassPath(path);
		byte[] old = program.entries().get(STAMPS);
		Set<String> done = new TreeSet<>();
		if (old != null)
			done.addAll(List.of(new String(old, StandardCharsets.UTF_8).split("\n")));
		Translator t = new Translator(o, name -> {
			byte[] b = libraries.entries().get(name + ".class");
			return b != null ? b : program.entries().get(name + ".class");
		});
		libraries.rules().forEach(t::rules);
		program.rules().forEach(t::rules);
		libraries.entries().forEach((name, b) -> {
			if (ClassPath.isClass(name, b) && !ClassPath.isTool(name)
					&& (ClassPath.isPico(name) || isTranslated(b)))
				t.library(b);
		});
		program.entries().forEach((name, b) -> {
			if (!ClassPath.isClass(name, b))
				return;
			if (done.contains(stamp(name, b)) || isTranslated(b))
				t.library(b);
			else
				t.add(b);
		});
		for (Map.Entry<String, byte[]> e : t.run().entrySet()) {
			Path f = dir.resolve(e.getKey() + ".class");
			Files.createDirectories(f.getParent());
			Files.write(f, e.getValue());
			done.add(stamp(e.getKey() + ".class", e.getValue()));
		}
		Path stamps = dir.resolve(STAMPS);
		Files.createDirectories(stamps.getParent());
		Files.write(stamps, done);
		return t.report();
	}

	/**
	 * What earlier runs wrote, name and CRC: a class that the compiler has made anew since
	 * is translated again, one that is still ours is not (it would be bracketed twice).
	 */
	private static final String STAMPS = "META-INF/pico/translated";

	private static String stamp(String name, byte[] b) {
		CRC32 c = new CRC32();
		c.update(b);
		return name + ' ' + Long.toHexString(c.getValue());
	}

	/** Has it been through here? Then it is a companion, or speaks of its own. */
	public static boolean isTranslated(byte[] file) {
		String name = new ClassReader(file).getClassName();
		return name.endsWith("$$Pico")
			|| new String(file, StandardCharsets.ISO_8859_1).contains(name + "$$Pico");
	}
}
