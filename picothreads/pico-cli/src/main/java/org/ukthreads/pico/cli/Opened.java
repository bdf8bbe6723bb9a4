// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.lang.reflect.Method;
import java.util.jar.Attributes;

/**
 * Opens the packages that the manifest of a started jar names (Add-Opens, Add-Exports). `java -jar`
 * does this before the program begins. We ask the JDK for the same through jdk.internal.access, a
 * package that pico.jar's manifest exports to us. If that fails (as on Java 11, which allows all
 * such access with a warning), nothing changes. Rejected: opening java.lang to us, which would open
 * it to every program.
 */
final class Opened {
	private Opened() {}

	static void by(Attributes manifest) {
		open(manifest.getValue("Add-Exports"), "addExportsToAllUnnamed");
		open(manifest.getValue("Add-Opens"), "addOpensToAllUnnamed");
	}

	/** words is a list of module/package, separated by white space. */
	static void open(String words, String how) {
		if (words == null || words.trim().isEmpty())
			return;
		try {
			Object jdk = Class.forName("jdk.internal.access.SharedSecrets")
				.getMethod("getJavaLangAccess").invoke(null);
			Method open = Class.forName("jdk.internal.access.JavaLangAccess")
				.getMethod(how, Module.class, String.class);
			for (String w : words.trim().split("\\s+")) {
				int slash = w.indexOf('/');
				Module m = slash < 0 ? null
					: ModuleLayer.boot().findModule(w.substring(0, slash)).orElse(null);
				if (m != null && m.getPackages().contains(w.substring(slash + 1)))
					open.invoke(jdk, m, w.substring(slash + 1));
			}
		} catch (ReflectiveOperationException e) {
			/* The packages stay closed. */
			return;
		}
	}
}
