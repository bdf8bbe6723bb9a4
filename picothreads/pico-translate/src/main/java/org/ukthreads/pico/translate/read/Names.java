// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.read;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.objectweb.asm.ClassReader;

/**
 * One String for each text. A class file's reader makes its own of every name and descriptor
 * that it meets: in a program of 22,000 classes three million Strings, and nine of ten of them
 * are the same text as another. Many threads may ask.
 */
public final class Names {
	private final Map<String, String> all = new ConcurrentHashMap<>();

	/** The one String of this text. */
	public String of(String text) {
		if (text == null)
			return null;
		String first = all.putIfAbsent(text, text);
		return first != null ? first : text;
	}

	/** What methods are known by: name and descriptor. */
	public String key(String name, String desc) {
		return of(name.concat(desc));
	}

	/** How many there are. */
	public int size() {
		return all.size();
	}

	/** A reader whose names are these. */
	public ClassReader reader(byte[] file) {
		return new Reader(file);
	}

	private final class Reader extends ClassReader {
		/** By index in the constant pool. Null: this is still being made, and reads already. */
		private final String[] known;

		Reader(byte[] file) {
			super(file);
			known = new String[getItemCount()];
		}

		@Override
		public String readUTF8(int offset, char[] buffer) {
			int k = offset == 0 ? 0 : readUnsignedShort(offset);
			if (known == null || k >= known.length)
				return of(super.readUTF8(offset, buffer));
			if (known[k] == null)
				known[k] = of(super.readUTF8(offset, buffer));
			return known[k];
		}
	}
}
