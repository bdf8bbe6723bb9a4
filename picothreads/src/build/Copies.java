// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/*
 * Makes classes that share text but cannot share code, because each extends another class of the
 * JDK. The build of a module runs it before it compiles: `java Copies.java TEXTS SOURCES OUT`. A
 * text is Java with lines that are replaced by parts of another class:
 *
 *   // = PicoVector: monitor          the part after the comment "--- monitor ---", up to the
 *                                     next such comment or the end of the class
 *   // = PicoVector: imports          its imports, except that of java.util.Vector
 *   // = PicoVector                   everything after its package line
 *   // = PicoVector; int n > long n   the same, with "int n" replaced by "long n"
 *
 * The name of the other class is replaced by that of this class, also without Pico: in PicoStack,
 * Vector becomes Stack. The build fails if a section or a text to replace is missing.
 *
 * Rejected: interfaces with default methods, because the methods of the JDK's class override them.
 */
final class Copies {
	private static final Pattern LINE = Pattern.compile("(?m)^\t*// = (\\w+)(?:: ([^;\n]+))?(.*)\n");
	private static final Pattern PACKAGE = Pattern.compile("(?m)^package ([\\w.]+);");
	private static final Pattern SECTION = Pattern.compile("(?m)^\t/\\* --- (.+) --- \\*/\n\n");

	private final Path sources;
	private final Path out;

	private Copies(Path sources, Path out) {
		this.sources = sources;
		this.out = out;
	}

	private static String read(Path p) throws IOException {
		return new String(Files.readAllBytes(p), StandardCharsets.UTF_8).replace("\r\n", "\n");
	}

	private static IllegalStateException missing(Path in, String what) {
		return new IllegalStateException(in + ": no " + what);
	}

	/** Returns Stack for PicoStack.java. */
	private static String bare(Path p) {
		return p.getFileName().toString().replaceAll("^Pico|\\.java$", "");
	}

	private static String part(Path from, String text, String name) {
		if (name == null)
			return text.replaceFirst("(?s).*?\npackage [^\n]*\n\n", "");
		if (name.equals("imports"))
			return text.replaceAll("(?m)^(?!import ).*\n|^import .*\\." + bare(from) + ";\n", "");
		Matcher m = SECTION.matcher(text);
		while (m.find())
			if (m.group(1).equals(name)) {
				int begin = m.end();
				int end = m.find() ? m.start() : text.lastIndexOf('}');
				return text.substring(begin, end).trim().replaceFirst("^", "\t") + "\n";
			}
		throw missing(from, "section " + name);
	}

	private static String words(Path from, String text, String pairs) {
		for (String pair : pairs.split("; *")) {
			if (pair.isEmpty())
				continue;
			String[] two = pair.split(" > ");
			if (!text.contains(two[0]))
				throw missing(from, "'" + two[0] + "'");
			text = text.replace(two[0], two[1]);
		}
		return text;
	}

	private String copied(Path dir, String to, Matcher m) throws IOException {
		Path from = dir.resolve(m.group(1) + ".java");
		String text = part(from, read(from), m.group(2))
			.replaceAll("\\b((?:Pico)?)" + bare(from) + "\\b", "$1" + to);
		return words(from, text, m.group(3));
	}

	private void make(Path text) throws IOException {
		String s = read(text);
		Matcher of = PACKAGE.matcher(s);
		if (!of.find())
			throw missing(text, "package");
		String dir = of.group(1).replace('.', '/');
		StringBuffer b = new StringBuffer();
		Matcher m = LINE.matcher(s);
		while (m.find())
			m.appendReplacement(b, Matcher.quoteReplacement(
				copied(sources.resolve(dir), bare(text), m)));
		m.appendTail(b);
		write(out.resolve(dir).resolve(text.getFileName()), b.toString());
	}

	/** Does not touch a file that has these contents already, so its time stays the same. */
	private static void write(Path to, String text) throws IOException {
		byte[] b = text.getBytes(StandardCharsets.UTF_8);
		if (Files.exists(to) && Arrays.equals(Files.readAllBytes(to), b))
			return;
		Files.createDirectories(to.getParent());
		Files.write(to, b);
	}

	public static void main(String[] args) throws IOException {
		Copies c = new Copies(Paths.get(args[1]), Paths.get(args[2]));
		try (DirectoryStream<Path> texts = Files.newDirectoryStream(Paths.get(args[0]), "*.java")) {
			for (Path text : texts)
				c.make(text);
		}
	}
}
