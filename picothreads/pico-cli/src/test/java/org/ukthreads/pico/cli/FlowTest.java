// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/**
 * Methods that the analysis does not count as suspending, because no object that suspends can reach
 * them. (The fixture Flows has those that must count.)
 */
final class FlowTest {
	@TempDir
	Path dir;

	/** Returns the names of P's methods that may suspend, in order. */
	private String suspending(String body) throws Exception {
		return suspending(body, new Translator.Options());
	}

	private String suspending(String body, Translator.Options o) throws Exception {
		Harness.compile(dir, "P", "import java.util.*; import java.util.function.*;\n"
			+ "public class P {\n"
			+ "static int pause(int k) { try { Thread.sleep(1); }"
			+ " catch (InterruptedException e) {} return k; }\n" + body + "}\n");
		Translator t = Translator.of(new ClassPath(List.of(dir)), Harness.libraries(), o);
		t.run();
		Set<String> s = new TreeSet<>();
		for (String m : t.report().translated())
			if (m.startsWith("P."))
				s.add(m.substring(2, m.indexOf('(')));
		s.remove("pause");
		return String.join(" ", s);
	}

	@Test
	void an_iterator_of_the_jdk_is_no_other() throws Exception {
		assertEquals("main slow", suspending(
			"static class Slow implements Iterator<String> {\n"
			+ "public boolean hasNext() { return pause(0) > 0; }\n"
			+ "public String next() { return \"\" + pause(1); } }\n"
			+ "static int fast(List<String> l) { int n = 0; for (String s : l)"
			+ " n += s.length(); return n; }\n"
			+ "static int slow() { int n = 0; for (Iterator<String> i = new Slow();"
			+ " i.hasNext();) n += i.next().length(); return n; }\n"
			+ "public static void main(String[] a) { fast(new ArrayList<>()); slow(); }\n"));
	}

	@Test
	void a_field_holds_what_was_put_there() throws Exception {
		assertEquals("lambda$main$1 main slow", suspending(
			"final IntUnaryOperator f; P(IntUnaryOperator f) { this.f = f; }\n"
			+ "static class Q { final IntUnaryOperator f;"
			+ " Q(IntUnaryOperator f) { this.f = f; }\n"
			+ "int call() { return f.applyAsInt(1); } }\n"
			+ "static int fast(Q q) { return q.call(); }\n"
			+ "static int slow(P p) { return p.f.applyAsInt(1); }\n"
			+ "public static void main(String[] a) {\n"
			+ "fast(new Q(k -> k + 1)); slow(new P(k -> pause(k))); }\n"));
	}

	@Test
	void an_array_holds_what_was_put_there() throws Exception {
		assertEquals("lambda$main$1 main slow", suspending(
			"static int fast(Supplier<String>[] s) { return s[0].get().length(); }\n"
			+ "static int slow(Supplier<String>[] s) { return s[0].get().length(); }\n"
			+ "@SuppressWarnings(\"unchecked\") public static void main(String[] a) {\n"
			+ "Supplier<String>[] x = new Supplier[] {() -> \"x\"}, y = new Supplier[1];\n"
			+ "y[0] = () -> \"y\" + pause(1); fast(x); slow(y); }\n"));
	}

	@Test
	void a_cast_filters_what_comes_out_of_a_list() throws Exception {
		assertEquals("main slow", suspending(
			"static class A { int go() { return 1; } }\n"
			+ "static class B extends A { int go() { return 2; } }\n"
			+ "static class C extends A { int go() { return pause(3); } }\n"
			+ "static int fast(List<?> l) { return ((B) l.get(0)).go(); }\n"
			+ "static int slow(List<?> l) { return ((A) l.get(0)).go(); }\n"
			+ "public static void main(String[] a) {\n"
			+ "List<Object> l = new ArrayList<>(List.of(new B(), new C()));\n"
			+ "fast(l); slow(l); }\n"));
	}

	@Test
	void an_exception_s_message_waits_for_nobody() throws Exception {
		assertEquals("main slow", suspending(
			"static class Slow { public String toString() { return \"\" + pause(1); } }\n"
			+ "static String message(Object o) { return String.valueOf(o.hashCode()); }\n"
			+ "static String fast(Integer k) { return text(k); }\n"
			+ "private static String text(Integer k) { return k.toString(); }\n"
			+ "static String slow() { return new Slow().toString(); }\n"
			+ "public static void main(String[] a) { fast(1); slow(); message(a); }\n"));
	}

	@Test
	void a_plug_in_may_hand_out_anything() throws Exception {
		assertEquals("slow", suspending(
			"interface Task { int run(); }\n"
			+ "public static class Mine implements Task { public int run() { return pause(1); } }\n"
			+ "interface Plugin { Task task(); }\n"
			+ "static int fast(Task t) { return t.hashCode(); }\n"
			+ "static int slow(Plugin p) { return p.task().run(); }\n"
			+ "public static void main(String[] a) throws Exception { fast(new Mine());\n"
			+ "slow((Plugin) Class.forName(a[0]).getConstructor().newInstance()); }\n")
			.replace("main ", ""));
	}

	/**
	 * A program's list may suspend. It may be in every place, except one that holds only the lists
	 * that the library made itself.
	 */
	@Test
	void in_a_library_its_own_collections_are_the_jdks() throws Exception {
		Translator.Options o = new Translator.Options();
		o.library = true;
		assertEquals("bothSlow changedSlow elementSlow givenSlow openSlow paramSlow virtualSlow",
			suspending(
			"private final List<String> own = new ArrayList<>();\n"
			+ "private List<String> changed = new ArrayList<>();\n"
			+ "private List<String> given = new ArrayList<>();\n"
			+ "List<String> open = new ArrayList<>();\n"
			+ "private final List<List<String>> all = new ArrayList<>();\n"
			+ "private static List<String> made() { return new LinkedList<>(); }\n"
			+ "final List<String> kept() { return own; }\n"
			+ "List<String> virtual() { return own; }\n"
			+ "void set(List<String> l) { changed = l; }\n"
			+ "P(List<String> l, int k) { given = k > 0 ? l : new ArrayList<>(); }\n"
			+ "void ownFast() { own.add(\"\"); for (String s : own) s.length(); }\n"
			+ "void madeFast() { made().isEmpty(); kept().size(); }\n"
			+ "int localFast() { List<String> l = new ArrayList<>(); l.add(\"\");"
			+ " Collection<String> c = l; return c.size(); }\n"
			+ "String finalFast(StringBuilder b) { return b.toString(); }\n"
			+ "void changedSlow() { changed.add(\"\"); }\n"
			+ "void givenSlow() { given.add(\"\"); }\n"
			+ "void openSlow() { open.add(\"\"); }\n"
			+ "void elementSlow() { all.get(0).add(\"\"); }\n"
			+ "void virtualSlow() { virtual().add(\"\"); }\n"
			+ "int paramSlow(Collection<String> l) { return l.size(); }\n"
			+ "int bothSlow(List<String> l, boolean b) { if (b) l = own;"
			+ " return l.size(); }\n", o));
	}
}
