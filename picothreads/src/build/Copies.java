// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/*
 * Writes out classes whose text repeats itself or that of another class, where they cannot share
 * code, because each extends another class of the JDK. The build of a module runs it before it
 * compiles: `java Copies.java TEXTS SOURCES OUT`. A text is Java with two kinds of marks. One
 * gives methods a common form:
 *
 *   // each: @Override public synchronized T m(..) { return super.m(..); }
 *   int size(); boolean isEmpty();
 *   void copyInto(Object[] to);
 *
 * Up to the next empty line or brace each declaration becomes such a method: T is its type, with
 * type parameters (in the body, too), m its name (m0: with 0 behind), `..` its parameters or
 * arguments. With `int size() = n;` X is n.
 * "return" is left out of a void method. A form may throw exceptions, and may go on in more
 * comment lines. All lines keep their numbers.
 *
 * The other is replaced by parts of another class, which is a source or a text:
 *
 *   // = PicoVector: monitor          the part after the comment "--- monitor ---", up to the
 *                                     next such comment or the end of its class
 *   // = PicoVector: imports          its imports, except that of java.util.Vector
 *   // = PicoVector                   everything after its package line
 *   // = PicoVector; int n > long n   the same, with "int n" replaced by "long n"
 *
 * The name of the other class is replaced by that of this class, also without Pico: in PicoStack,
 * Vector becomes Stack. A part without marks can also be copied within its class. The build fails,
 * with file and line, at a mark or a declaration that it cannot read, and if a section or a text to
 * replace is missing.
 *
 * Rejected: interfaces with default methods, because the methods of the JDK's class override them;
 * lists of methods by reflection, because they would depend on the JDK that builds.
 */
final class Copies {
	private static final Pattern MARK = Pattern.compile("(?m)^\t*// ?(=|each\\b).*\n");
	private static final Pattern EACH = Pattern.compile(
		"\t*// each: (.*\n(?:\t*//.*\n)*)((?:[^{}\n]+\n)+)");
	private static final Pattern FORM = Pattern.compile(
		"(.*)\\bT (m\\((?:.*, )?\\.\\.\\))((?: throws [^{]+)? \\{.*\\})");
	private static final Pattern METHOD = Pattern.compile(
		"\\s*((?:<.+?> )?\\w[^;(]*) (\\w+)\\(([^;()]*)\\)(\\s+throws [\\w., ]+)?"
		+ "(?: = ([^;]+))?;");
	private static final Pattern LINE = Pattern.compile(
		"\t*// = (\\w+)(?:: ([^;\n]+))?((?:; .+ > .+)?)\n");
	private static final Pattern PACKAGE = Pattern.compile("(?m)^package ([\\w.]+);");
	private static final Pattern SECTION = Pattern.compile(
		"(?ms)^(\t+)/\\* --- ([^\n]+) --- \\*/\n\n(?=(.*?)^(?:\\1/\\* --- |(?!\\1)\t*\\}))");

	private final Path texts;
	private final Path sources;
	private final Path out;

	private Copies(Path texts, Path sources, Path out) {
		this.texts = texts;
		this.sources = sources;
		this.out = out;
	}

	private static String read(Path p) throws IOException {
		return new String(Files.readAllBytes(p), StandardCharsets.UTF_8).replace("\r\n", "\n");
	}

	private static void check(boolean ok, Path in, String text, int at, String message) {
		long line = 1 + text.substring(0, at).chars().filter(c -> c == '\n').count();
		if (!ok)
			throw new IllegalStateException(in + ":" + line + ": " + message);
	}

	/** Returns Stack for PicoStack.java. */
	private static String bare(Path p) {
		return p.getFileName().toString().replaceAll("^Pico|\\.java$", "");
	}

	/** Returns "a, b" for "int a, Map<K, V> b". */
	private static String names(String parameters) {
		String s = parameters;
		for (String was = ""; !was.equals(s); s = s.replaceAll("<[^<>]*>", ""))
			was = s;
		return s.replaceAll("[^,\\s][^,]*\\s(\\w+)", "$1");
	}

	private static String filled(String form, String name, String list) {
		return form.replaceAll("\\bm(0?)\\((?=[^()]*\\.\\.\\))", name + "$1(")
			.replaceAll("\\.\\.(?=[),])", Matcher.quoteReplacement(list)).replace(", )", ")");
	}

	private static String method(Matcher form, Matcher m) {
		String body = filled(form.group(3), m.group(2), names(m.group(3)))
			.replaceAll("\\bT\\b", Matcher.quoteReplacement(m.group(1)));
		if (m.group(5) != null)
			body = body.replaceAll("\\bX\\b", Matcher.quoteReplacement(m.group(5)));
		String s = form.group(1) + m.group(1) + " " + filled(form.group(2), m.group(2), m.group(3))
			+ Objects.toString(m.group(4), "")
			+ (m.group(1).equals("void") ? body.replace("return ", "") : body);
		return s.replaceAll("\\s+", " ");
	}

	/** Writes the methods that are listed after a form; returns where the list ends. */
	private static int each(Path in, String text, int at, StringBuilder to) {
		Matcher each = EACH.matcher(text).region(at, text.length());
		check(each.lookingAt(), in, text, at, "no form with a list of methods");
		Matcher form = FORM.matcher(each.group(1).trim().replaceAll("\n\t*// *", " "));
		check(form.matches(), in, text, at, "not of the form T m(..) { ... }");
		to.append(text, at, each.start(2));
		int from = each.start(2);
		Matcher m = METHOD.matcher(text).region(from, each.end());
		while (m.lookingAt()) {
			to.append(text, from, m.start(1)).append(method(form, m));
			to.append(text.substring(m.start(1), m.end()).replaceAll("[^\n]", ""));
			from = m.end();
			m.region(from, each.end());
		}
		String rest = text.substring(from, each.end());
		check(rest.trim().isEmpty(), in, text, from + rest.indexOf(rest.trim()),
			"not the declaration of a method");
		to.append(rest);
		return each.end();
	}

	/** Returns null if there is no such part. */
	private static String part(Path from, String text, String name) {
		if (name == null)
			return text.replaceFirst("(?s).*?\npackage [^\n]*\n\n", "");
		if (name.equals("imports"))
			return text.replaceAll("(?m)^(?!import ).*\n|^import .*\\." + bare(from) + ";\n", "");
		Matcher m = SECTION.matcher(text);
		while (m.find())
			if (m.group(2).equals(name))
				return m.group(1) + m.group(3).trim() + "\n";
		return null;
	}

	private String copied(Path in, String text, int at) throws IOException {
		Matcher m = LINE.matcher(text).region(at, text.length());
		check(m.lookingAt(), in, text, at, "not of the form CLASS: PART; THIS > THAT");
		Path from = sources.resolve(dir(text)).resolve(m.group(1) + ".java");
		if (!Files.exists(from))
			from = texts.resolve(m.group(1) + ".java");
		check(Files.exists(from), in, text, at, "no class " + m.group(1));
		String s = part(from, from.endsWith(in.getFileName()) ? text : written(from), m.group(2));
		check(s != null, in, text, at, "no section " + m.group(2));
		s = s.replaceAll("\\b((?:Pico)?)" + bare(from) + "\\b", "$1" + bare(in));
		for (String pair : m.group(3).split("; *")) {
			if (pair.isEmpty())
				continue;
			String[] two = pair.split(" > ");
			check(s.contains(two[0]), in, text, at, "no '" + two[0] + "'");
			s = s.replace(two[0], two[1]);
		}
		return s;
	}

	/** Returns the Java of a file. */
	private String written(Path in) throws IOException {
		String text = read(in);
		StringBuilder b = new StringBuilder();
		int from = 0;
		for (Matcher m = MARK.matcher(text); m.find(from);) {
			b.append(text, from, m.start());
			if (m.group(1).equals("=")) {
				b.append(copied(in, text, m.start()));
				from = m.end();
			} else {
				from = each(in, text, m.start(), b);
			}
		}
		return b.append(text, from, text.length()).toString();
	}

	/** Returns the folder of the text's package. */
	private static String dir(String text) {
		Matcher m = PACKAGE.matcher(text);
		return m.find() ? m.group(1).replace('.', '/') : "";
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
		Copies c = new Copies(Paths.get(args[0]), Paths.get(args[1]), Paths.get(args[2]));
		try (DirectoryStream<Path> texts = Files.newDirectoryStream(c.texts, "*.java")) {
			for (Path text : texts)
				write(c.out.resolve(dir(read(text))).resolve(text.getFileName()), c.written(text));
		}
	}
}
