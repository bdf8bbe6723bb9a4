// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Which main method a program starts with, by the rules before Java 25 and since. */
final class EntryTest {
	private static String called;

	public static class Classic {
		public static void main(String[] a) {
			called = "classic " + a.length;
		}
	}

	/** The inherited main has arguments, so it comes first. */
	static class Inherits extends Classic {
		void main() {
			called = "own";
		}
	}

	static class Instance {
		private final String made = "instance";

		void main() {
			called = made;
		}
	}

	static class Both {
		static void main(String[] a) {
			called = "words " + a.length;
		}

		public void main() {
			called = "none";
		}
	}

	static class Hidden {
		private static void main(String[] a) {}

		protected void main() {
			called = "protected";
		}
	}

	static class Result {
		public static int main(String[] a) {
			return 0;
		}
	}

	static class Closed {
		private Closed() {}

		void main() {}
	}

	abstract static class Abstract {
		void main() {}
	}

	static class Fails {
		Fails() {
			throw new IllegalStateException("made");
		}

		void main() {}
	}

	private static String calls(boolean later, Class<?> c) throws Exception {
		Entry.task(later, c, "a", "b").run();
		return called;
	}

	private static void refuses(boolean later, Class<?> c, String why) {
		String m = assertThrows(NoSuchMethodException.class, () -> Entry.task(later, c))
			.getMessage();
		assertTrue(m.startsWith(c.getName() + why), m);
	}

	@Test
	void before_java_25_it_is_public_and_static() throws Exception {
		assertEquals("classic 2", calls(false, Classic.class));
		assertEquals("classic 2", calls(false, Inherits.class));
		for (Class<?> c : new Class<?>[] {Instance.class, Both.class, Hidden.class, Result.class})
			refuses(false, c, " has no public static void main(String[])");
	}

	@Test
	void since_java_25_it_may_be_an_objects() throws Exception {
		assertEquals("classic 2", calls(true, Classic.class));
		assertEquals("classic 2", calls(true, Inherits.class));
		assertEquals("instance", calls(true, Instance.class));
		assertEquals("words 2", calls(true, Both.class));
		assertEquals("protected", calls(true, Hidden.class));
		refuses(true, Result.class, " has no public static void main(String[]), and no");
		refuses(true, Closed.class, " has no constructor");
		refuses(true, Abstract.class, " is abstract");
		assertEquals("made", assertThrows(IllegalStateException.class,
			Entry.task(true, Fails.class)::run).getMessage());
	}
}
