// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.Adapted;
import org.ukthreads.fixtures.Bodies;
import org.ukthreads.fixtures.ByName;
import org.ukthreads.fixtures.Concurrency;
import org.ukthreads.fixtures.Constructs;
import org.ukthreads.fixtures.Diamonds;
import org.ukthreads.fixtures.Endless;
import org.ukthreads.fixtures.Flows;
import org.ukthreads.fixtures.Generic;
import org.ukthreads.fixtures.Hidden;
import org.ukthreads.fixtures.JdkLocked;
import org.ukthreads.fixtures.Life;
import org.ukthreads.fixtures.Lossy;
import org.ukthreads.fixtures.Making;
import org.ukthreads.fixtures.Managed;
import org.ukthreads.fixtures.Merges;
import org.ukthreads.fixtures.Modern;
import org.ukthreads.fixtures.Nested;
import org.ukthreads.fixtures.OwnKinds;
import org.ukthreads.fixtures.Reaching;
import org.ukthreads.fixtures.Runs;
import org.ukthreads.fixtures.Seen;
import org.ukthreads.fixtures.SelfLocked;
import org.ukthreads.fixtures.Stages;
import org.ukthreads.fixtures.Stuck;
import org.ukthreads.fixtures.Synchronizers;
import org.ukthreads.fixtures.Traced;
import org.ukthreads.fixtures.far.Chain;

/**
 * Programs with every construct print the same when translated, with and without forced
 * suspensions.
 */
final class FixturesTest {
	@TempDir
	Path dir;

	private static String sorted(String s) {
		return Arrays.stream(s.split("\n")).sorted().collect(Collectors.joining("\n"));
	}

	private void same(Class<?> c) throws Exception {
		same(c, 1);
	}

	/** Runs c on each number of carriers, with and without forced suspensions. */
	private void same(Class<?> c, int... carriers) throws Exception {
		same(Harness.classes(dir.resolve(c.getSimpleName()), c), c, carriers);
	}

	private static void same(Path p, Class<?> c, int... carriers) throws Exception {
		String want = sorted(Harness.plain(p, c.getName()));
		for (int n : carriers)
			for (int chaos : new int[] {0, 1, 2, 7})
				assertEquals(want, sorted(Harness.pico(p, c.getName(), chaos, chaos + 1, n)),
					n + " carriers, one call in " + chaos + " suspends");
	}

	@Test
	void all_constructs_suspend() throws Exception {
		same(Constructs.class);
	}

	@Test
	void records_lambdas_patterns_and_bridges_suspend() throws Exception {
		same(Modern.class);
	}

	@Test
	void what_is_reached_by_name_is_ours() throws Exception {
		Path p = Harness.classes(dir.resolve("ByName"), ByName.class);
		Path in = p.resolve("org/ukthreads/fixtures");
		Files.copy(in.resolve("ByName$Script.class"), in.resolve("Script.bin"));
		same(p, ByName.class, 1, 3);
	}

	@Test
	void run_may_be_called_by_anybody() throws Exception {
		same(Runs.class, 1, 3);
	}

	@Test
	@Tag("long")
	@Tag("1/2")
	void recursion_without_an_end_overflows() throws Exception {
		same(Endless.class);
	}

	@Test
	void hidden_types_suspend() throws Exception {
		Path p = Harness.classes(dir.resolve("Hidden"), Hidden.class, Chain.class);
		for (String f : new String[] {"Link.class", "Plain.class"})
			Files.copy(Paths.get(Chain.class.getResource(f).toURI()),
				p.resolve("org/ukthreads/fixtures/far").resolve(f));
		same(p, Hidden.class, 1, 3);
	}

	@Test
	void the_thread_bean_knows_the_threads_of_the_program() throws Exception {
		same(Managed.class, 1, 3);
	}

	@Test
	void constructors_suspend() throws Exception {
		same(Making.class);
	}

	@Test
	void calls_reach_the_program_by_other_ways() throws Exception {
		same(Reaching.class);
	}

	@Test
	void an_object_is_followed_wherever_it_goes() throws Exception {
		same(Flows.class);
	}

	@Test
	void a_lock_around_a_wait_for_another_is_ours() throws Exception {
		same(Nested.class, 1, 3);
	}

	@Test
	void where_two_types_meet_any_object_is_restored() throws Exception {
		same(Merges.class);
	}

	@Test
	void super_finds_the_nearest_default_method() throws Exception {
		same(Diamonds.class);
	}

	@Test
	void lambdas_of_two_interfaces_meet_in_one_object() throws Exception {
		same(Bodies.class);
	}

	@Test
	void method_references_widen_what_a_type_parameter_was() throws Exception {
		same(Adapted.class);
	}

	@Test
	void type_parameters_of_replaced_superclasses_stay() throws Exception {
		same(Generic.class);
	}

	@Test
	void threads_and_j_u_c_behave_as_the_jdks() throws Exception {
		same(Concurrency.class, 1, 3);
	}

	@Test
	void the_programs_own_keys_lists_and_queues_suspend() throws Exception {
		same(OwnKinds.class, 1, 3);
	}

	@Test
	void what_the_jdk_locks_is_locked_for_all() throws Exception {
		same(JdkLocked.class, 1, 3);
	}

	@Test
	void collections_that_lock_themselves_hold_the_programs_locks() throws Exception {
		same(SelfLocked.class, 1, 3);
	}

	@Test
	void threads_live_as_the_jvms() throws Exception {
		same(Life.class, 1, 3);
	}

	@Test
	void objects_are_seen_as_of_the_jdks_classes() throws Exception {
		same(Seen.class);
	}

	@Test
	void phasers_stamped_locks_and_own_synchronizers_behave_as_the_jdks() throws Exception {
		same(Synchronizers.class, 1, 3);
	}

	@Test
	void futures_pools_streams_and_timers_behave_as_the_jdks() throws Exception {
		same(Stages.class, 1, 3);
	}

	@Test
	void stack_traces_are_those_of_the_jvms_threads() throws Exception {
		same(Traced.class, 1, 2);
	}

	@Test
	@Tag("long")
	@Tag("2/2")
	void who_is_stuck_holds_nobody_up() throws Exception {
		same(Stuck.class, 1, 3);
	}

	/** The class needs an optional dependency that is missing, and is never loaded. */
	@Test
	void a_superclass_may_be_missing() throws Exception {
		Path p = Files.createDirectories(dir.resolve("missing"));
		Harness.compile(p, "Main", "public class Main { public static void main(String[] args) {"
			+ " Thread.yield(); System.out.println(\"ran\"); } }"
			+ " class Gone extends Exception {} class Part extends Gone {}"
			+ " class Never { static Throwable in(Part p) { Thread.yield();"
			+ " return new Exception(p); } static String of(int k) { try { Thread.yield();"
			+ " if (k > 0) throw new Gone(); } catch (Gone | IllegalStateException e) {"
			+ " Thread.yield(); return e.getMessage(); } return null; }"
			+ " static String both(Part p, Error e) { Throwable t = p != null ? p : e;"
			+ " Thread.yield(); return t.getMessage(); } }");
		Files.delete(p.resolve("Gone.class"));
		assertEquals("ran\n", Harness.plain(p, "Main"));
		assertEquals("ran\n", Harness.pico(p, "Main", 0, 1));
	}

	@Test
	void what_is_not_at_its_place_is_no_class() throws Exception {
		Path p = Files.createDirectories(dir.resolve("places"));
		Path in = Files.createDirectories(p.resolve("AAA/classes"));
		String source = "public class Main { public static void main(String[] args) {"
			+ " Thread.yield(); System.out.println(\"here\"); } }";
		Harness.compile(in, "Main", source.replace("here", "there"));
		Harness.compile(p, "Main", source);
		Files.createFile(in.resolve("Empty.class"));
		Files.writeString(in.resolve("Text.class"), "this is text");
		assertEquals("here\n", Harness.plain(p, "Main"));
		assertEquals("here\n", Harness.pico(p, "Main", 0, 1));
	}

	@Test
	void a_lost_frame_is_an_exception_that_names_it() throws Exception {
		Path p = Harness.classes(dir.resolve("lossy"), Lossy.class);
		assertEquals("read 41\nread 42\nread 42\nread 42\nread 42\nread 42\nread 42\nread 42\nread 41\n",
			Harness.plain(p, Lossy.class.getName()));
		String[] got = Harness.pico(p, Lossy.class.getName(), 0, 1).split("\n");
		for (int k = 1; k <= 5; k++)
			assertEquals("read 42", got[k]);
		assertTrue(got[6].startsWith("PinnedException lost frame"), got[6]);
		assertTrue(got[6].contains("Lossy.lose("), got[6]);
		assertTrue(got[6].contains("Lossy$Named.get()I"), got[6]);
		/*
		 * Outside swallows the exception. The loss is found when the method that got the false
		 * result ends.
		 */
		assertTrue(got[7].startsWith("PinnedException lost frame"), got[7]);
		assertEquals("read 41", got[8]);
	}

	private static final String BEANS = "import java.lang.reflect.*; public class Main {"
		+ " public interface D { default int twice(int k) { Thread.yield(); return 2 * k; } }"
		+ " public interface L { void heard(String s); }"
		+ " public int x() { Thread.yield(); return 5; }"
		+ " public void hear(String s) { Thread.yield(); System.out.println(s); }"
		+ " public static void main(String[] a) throws Exception { ";

	@Test
	void what_the_jdk_calls_by_reflection_pins() throws Exception {
		Path p = Files.createDirectories(dir.resolve("beans"));
		Harness.compile(p, "Main", BEANS + "D d = (D) Proxy.newProxyInstance("
			+ "Main.class.getClassLoader(), new Class<?>[] {D.class},"
			+ " (o, m, as) -> InvocationHandler.invokeDefault(o, m, as));"
			+ " System.out.println(d.twice(4)); System.out.println("
			+ " new java.beans.Expression(new Main(), \"x\", null).getValue());"
			+ " Thread.sleep(1); System.out.println(\"on\"); } }");
		String want = "8\n5\non\n";
		assertEquals(want, Harness.plain(p, "Main"));
		for (int chaos : new int[] {0, 1, 2})
			assertEquals(want, Harness.pico(p, "Main", chaos, 1));
	}

	private static final String DEFINING = "import java.io.*; import java.lang.invoke.*;"
		+ " import java.nio.file.*; public class Main { public static int slow(int k) { try {"
		+ " Thread.sleep(1); } catch (InterruptedException e) {} return k + 1; }"
		+ " public static class Part implements Runnable { public void run() {"
		+ " System.out.println(\"part \" + slow(1)); } }"
		+ " static class Own extends ClassLoader { Own() { super(Main.class.getClassLoader()); }"
		+ " protected Class<?> loadClass(String n, boolean r) throws ClassNotFoundException {"
		+ " if (!n.equals(\"Main$Part\")) return super.loadClass(n, r); try (InputStream in ="
		+ " Main.class.getResourceAsStream(n + \".class\")) { byte[] b = in.readAllBytes();"
		+ " return defineClass(n, b, 0, b.length); } catch (IOException e) {"
		+ " throw new ClassNotFoundException(n, e); } } }"
		+ " static void both(Class<?> c) throws Exception {"
		+ " ((Runnable) c.getConstructor().newInstance()).run();"
		+ " Thread t = new Thread((Runnable) c.getConstructor().newInstance()); t.start();"
		+ " t.join(); } public static void main(String[] a) throws Exception {"
		+ " byte[] b = Files.readAllBytes(Paths.get(System.getProperty(\"made\")));"
		+ " both((Class<?>) MethodHandles.Lookup.class.getMethod(\"defineClass\", byte[].class)"
		+ ".invoke(MethodHandles.lookup(), (Object) b));"
		+ " Class<?> p = new Own().loadClass(\"Main$Part\"); System.out.println(p == Part.class);"
		+ " both(p); both(Part.class); } }";

	/**
	 * The classes are defined by reflection on a Lookup, and by a loader that also reads our
	 * classes as resources.
	 */
	@Test
	void classes_that_the_program_defines_pin() throws Exception {
		Path p = Harness.compile(Files.createDirectories(dir.resolve("defining")), "Main",
			DEFINING);
		Path aside = Files.createDirectories(dir.resolve("aside"));
		Harness.compile(aside, "Made", "public class Made implements Runnable {"
			+ " public void run() { System.out.println(\"made \" + Main.slow(2)); } }",
			"-cp", p.toString());
		System.setProperty("made", aside.resolve("Made.class").toString());
		String want = Harness.plain(p, "Main");
		assertEquals("made 3\nmade 3\nfalse\npart 2\npart 2\npart 2\npart 2\n", want);
		assertEquals(want, Harness.pico(p, "Main", 0, 1));
	}

	@Test
	void an_exception_that_somebody_made_of_a_lost_frame_says_so() throws Exception {
		Path p = Files.createDirectories(dir.resolve("events"));
		Harness.compile(p, "Main", BEANS + "L l = java.beans.EventHandler.create(L.class,"
			+ " new Main(), \"hear\", \"\"); l.heard(\"event\"); } }");
		assertEquals("event\n", Harness.plain(p, "Main"));
		String got = Harness.pico(p, "Main", 0, 1);
		assertTrue(got.startsWith("threw org.ukthreads.pico.PinnedException: lost frame"), got);
		assertTrue(got.contains("Main.hear("), got);
	}
}
