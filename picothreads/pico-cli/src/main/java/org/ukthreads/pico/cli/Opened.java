// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.lang.reflect.Method;
import java.util.jar.Attributes;

/**
 * What the manifest of a jar that is started opens to it (Add-Opens, Add-Exports). `java -jar`
 * does so before the program begins; we ask the JDK for the same by its own door, a package that
 * pico.jar's manifest exports to us. Where there is none (Java 11, which opens all with a warning)
 * things stay as they are. Rejected: java.lang opened to us, and so to every program.
 */
final class Opened {
	private Opened() {}

	static void by(Attributes manifest) {
		open(manifest.getValue("Add-Exports"), "addExportsToAllUnnamed");
		open(manifest.getValue("Add-Opens"), "addOpensToAllUnnamed");
	}

	/** words: module/package.. */
	private static void open(String words, String how) {
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
			/* As without. */
			return;
		}
	}
}
