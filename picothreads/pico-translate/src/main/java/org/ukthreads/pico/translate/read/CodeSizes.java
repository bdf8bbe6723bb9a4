// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.read;

import java.util.HashMap;
import java.util.Map;
import org.objectweb.asm.ClassReader;

/** The bytes of code of each method of a class file. */
public final class CodeSizes {
	/** HotSpot never compiles larger methods (-XX:+DontCompileHugeMethods, the default). */
	public static final int HUGE = 8000;

	private final ClassReader r;
	private final char[] buffer;
	/** The offset to read from. */
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

	/** Returns name and descriptor to size, for methods with code. */
	public static Map<String, Integer> of(byte[] file) {
		return new CodeSizes(file).sizes;
	}

	private int next() {
		at += 2;
		return r.readUnsignedShort(at - 2);
	}

	/** Reads fields or methods. */
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
