// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.read;

import java.util.HashMap;
import java.util.Map;
import org.objectweb.asm.ClassReader;

/** How many bytes of code the methods of a class file have. */
public final class CodeSizes {
	/** HotSpot interprets larger ones for ever (-XX:+DontCompileHugeMethods, the default). */
	public static final int HUGE = 8000;

	private final ClassReader r;
	private final char[] buffer;
	/** Where we read. */
	private int at;
	private final Map<String, Integer> sizes = new HashMap<>();

	private CodeSizes(byte[] file) {
		r = new ClassReader(file);
		buffer = new char[r.getMaxStringLength()];
		/* access, this, super; interfaces */
		at = r.header + 6;
		int interfaces = next();
		at += 2 * interfaces;
		members();
		members();
	}

	/** Name and descriptor to size; methods without code are not there. */
	public static Map<String, Integer> of(byte[] file) {
		return new CodeSizes(file).sizes;
	}

	private int next() {
		at += 2;
		return r.readUnsignedShort(at - 2);
	}

	/** Fields, or methods. */
	private void members() {
		for (int n = next(); n > 0; n--) {
			String key = r.readUTF8(at + 2, buffer) + r.readUTF8(at + 4, buffer);
			at += 6;
			for (int a = next(); a > 0; a--) {
				if ("Code".equals(r.readUTF8(at, buffer)))
					sizes.put(key, r.readInt(at + 10));
				at += 6 + r.readInt(at + 2);
			}
		}
	}
}
