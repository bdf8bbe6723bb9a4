// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/** Static methods that only the initialiser of their class calls. Their calls always pin. */
final class InitialTest {
	private static final String PROGRAM = "import java.util.function.*;\n"
		+ "public class Initial {\n"
		+ "static int n; static int s(int k) { Thread.yield(); return k + n++; }\n"
		+ "static class Big {\n"
		+ "	static final int A = once(1), B = both(2), C = handled(3), D = other(4), E = mine(5);\n"
		+ "	static final IntUnaryOperator H = Big::handled;\n"
		+ "	public static int once(int k) { try { if (k == 9) throw new RuntimeException(\"9\");\n"
		+ "		return s(k) + deeper(k); } finally { n += s(0) > 0 ? 1 : 2; } }\n"
		+ "	private static int deeper(int k) { synchronized (Big.class) { return s(k); } }\n"
		+ "	static int both(int k) { return s(k) + s(k); }\n"
		+ "	static int handled(int k) { return s(k) + s(k); }\n"
		+ "	static int other(int k) { return s(k) + s(k); }\n"
		+ "	private static int mine(int k) { return s(k) + s(k); }\n"
		+ "	private static int none(int k) { return s(k) + s(k); }\n"
		+ "}\n"
		+ "static class Sub { static int x = Big.other(1); }\n"
		+ "public static void main(String[] a) throws Exception {\n"
		+ "	System.out.println(Big.A + Big.B + Big.C + Big.D + Big.both(3) + Sub.x);\n"
		+ "	Thread[] all = new Thread[3]; int[] got = new int[1];\n"
		+ "	for (int k = 0; k < 3; k++) { all[k] = new Thread(() -> { try {\n"
		+ "		for (int j = 0; j < 20; j++) { int r = (int) Big.class.getMethod(\"once\",\n"
		+ "			int.class).invoke(null, 0); synchronized (got) { got[0] += r > 0 ? 1 : 0; } }\n"
		+ "	} catch (Exception e) { System.out.println(e); } }); all[k].start(); }\n"
		+ "	for (Thread t : all) t.join();\n"
		+ "	try { Big.class.getMethod(\"once\", int.class).invoke(null, 9); }\n"
		+ "	catch (Exception e) { System.out.println(got[0] + \" \" + e.getCause()); }\n"
		+ "	Thread.sleep(1); System.out.println(Big.H.applyAsInt(0) > 0);\n"
		+ "} }\n";
	private static final String RESUME
		= "(Lorg/ukthreads/pico/Continuation;ILorg/ukthreads/pico/Frame;)Z";

	@TempDir
	Path dir;

	/** Returns the names of the methods of a class that can be resumed. */
	private static Set<String> resumed(byte[] file) {
		Set<String> names = new TreeSet<>();
		new ClassReader(file).accept(new ClassVisitor(Opcodes.ASM9) {
			@Override
			public MethodVisitor visitMethod(int access, String name, String desc, String sig,
					String[] exceptions) {
				if (desc.equals(RESUME) && !name.equals("pico$$resume"))
					names.add(name);
				return null;
			}
		}, 0);
		return names;
	}

	private Map<String, byte[]> translated(boolean library) {
		Translator.Options o = new Translator.Options();
		o.library = library;
		o.verify = true;
		return Translator.of(new ClassPath(List.of(dir)), Harness.libraries(), o).run();
	}

	@Test
	void what_only_an_initialiser_calls_is_bracketed_and_not_translated() throws Exception {
		Harness.compile(dir, "Initial", PROGRAM);
		assertEquals(Set.of("both", "handled", "none", "other"),
			resumed(translated(false).get("Initial$Big")));
		assertEquals(Set.of("both", "deeper", "handled", "none", "once", "other"),
			resumed(translated(true).get("Initial$Big")));
		String want = Harness.plain(dir, "Initial");
		for (int chaos : new int[] {0, 1, 3})
			assertEquals(want, Harness.pico(dir, "Initial", chaos, chaos + 1), "chaos " + chaos);
	}
}
