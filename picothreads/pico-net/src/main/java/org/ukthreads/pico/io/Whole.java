// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.CharArrayReader;
import java.io.CharArrayWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Reader;
import java.io.Writer;
import java.nio.file.CopyOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Properties;
import org.ukthreads.pico.SelfLocked;

/**
 * Replaces methods with which the JDK reads to the end, or writes in one go. They work in
 * memory, so that no frame of theirs is on the stack while a stream of the program waits.
 */
public final class Whole {
	private Whole() {}

	private static InputStream all(InputStream in) throws IOException {
		return new ByteArrayInputStream(PicoInputStream.readNBytes(in, Integer.MAX_VALUE));
	}

	public static void load(Properties p, InputStream in) throws IOException {
		InputStream all = all(in);
		boolean held = SelfLocked.enter(p, "load(Ljava/io/InputStream;)");
		try {
			p.load(all);
		} finally {
			SelfLocked.exit(p, held);
		}
	}

	public static void load(Properties p, Reader in) throws IOException {
		CharArrayWriter w = new CharArrayWriter();
		PicoReader.transfer(in, w);
		boolean held = SelfLocked.enter(p, "load(Ljava/io/Reader;)");
		try {
			p.load(new CharArrayReader(w.toCharArray()));
		} finally {
			SelfLocked.exit(p, held);
		}
	}

	public static void loadFromXML(Properties p, InputStream in) throws IOException {
		InputStream all;
		try {
			all = all(in);
		} finally {
			in.close();
		}
		boolean held = SelfLocked.enter(p, "loadFromXML(Ljava/io/InputStream;)");
		try {
			p.loadFromXML(all);
		} finally {
			SelfLocked.exit(p, held);
		}
	}

	public static void store(Properties p, OutputStream out, String comment)
			throws IOException {
		ByteArrayOutputStream b = new ByteArrayOutputStream();
		boolean held = SelfLocked.enter(p, "store(Ljava/io/OutputStream;Ljava/lang/String;)");
		try {
			p.store(b, comment);
		} finally {
			SelfLocked.exit(p, held);
		}
		out.write(b.toByteArray());
		out.flush();
	}

	public static void store(Properties p, Writer out, String comment) throws IOException {
		CharArrayWriter w = new CharArrayWriter();
		boolean held = SelfLocked.enter(p, "store(Ljava/io/Writer;Ljava/lang/String;)");
		try {
			p.store(w, comment);
		} finally {
			SelfLocked.exit(p, held);
		}
		out.write(w.toCharArray());
		out.flush();
	}

	public static void storeToXML(Properties p, OutputStream out, String comment)
			throws IOException {
		storeToXML(p, out, comment, "UTF-8");
	}

	public static void storeToXML(Properties p, OutputStream out, String comment,
			String encoding) throws IOException {
		ByteArrayOutputStream b = new ByteArrayOutputStream();
		p.storeToXML(b, comment, encoding);
		out.write(b.toByteArray());
		out.flush();
	}

	public static long copy(Path from, OutputStream to) throws IOException {
		try (InputStream in = Files.newInputStream(from)) {
			return PicoInputStream.transfer(in, to);
		}
	}

	public static long copy(InputStream from, Path to, CopyOption... how) throws IOException {
		boolean replace = false;
		for (CopyOption o : how) {
			if (o == null)
				throw new NullPointerException();
			if (o != StandardCopyOption.REPLACE_EXISTING)
				throw new UnsupportedOperationException(o + " not supported");
			replace = true;
		}
		if (from == null)
			throw new NullPointerException();
		if (replace)
			Files.deleteIfExists(to);
		try (OutputStream out = Files.newOutputStream(to, StandardOpenOption.CREATE_NEW,
				StandardOpenOption.WRITE)) {
			return PicoInputStream.transfer(from, out);
		}
	}
}
