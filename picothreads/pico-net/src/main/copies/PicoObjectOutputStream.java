// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.ObjectOutput;
import java.io.ObjectOutputStream;
import java.io.OutputStream;
import org.ukthreads.pico.juc.Written;

/**
 * ObjectOutputStream that writes to a Sink and passes the bytes on after the outermost act:
 * the program's writeObject methods run in the middle of one.
 *
 * Our locks and queues are written with the JDK's names (Written) in replaceObject. The JDK
 * always calls ours; it calls that of a subclass only after enableReplaceObject. A rule passes
 * what a subclass returns there through written().
 */
public class PicoObjectOutputStream extends ObjectOutputStream {
	/** Null for a subclass that writes objects in its own way. */
	private final Sink sink;
	private static final ClassValue<Boolean> REPLACES
		= new Overrides(PicoObjectOutputStream.class, "replaceObject", Object.class);
	private Written written = new Written();
	/** The last argument of the program's enableReplaceObject. */
	private boolean asked;

	protected PicoObjectOutputStream() throws IOException {
		sink = null;
	}

	/**
	 * For subclasses: pins if writing the header has to wait. The header is written here and
	 * not with the first act, because two peers may both make this stream first and then wait
	 * for the other's header.
	 */
	public PicoObjectOutputStream(OutputStream out) throws IOException {
		this(Sink.of(out));
		sink.drain();
	}

	public static PicoObjectOutputStream pico$new(OutputStream out) throws IOException {
		PicoObjectOutputStream o = new PicoObjectOutputStream(Sink.of(out));
		o.sink.drain();
		return o;
	}

	private PicoObjectOutputStream(Sink sink) throws IOException {
		super(sink);
		this.sink = sink;
		if (!REPLACES.get(getClass()))
			super.enableReplaceObject(true);
	}

	@Override
	protected boolean enableReplaceObject(boolean enable) {
		boolean before = asked;
		if (REPLACES.get(getClass()))
			super.enableReplaceObject(enable);
		asked = enable;
		return before;
	}

	@Override
	protected Object replaceObject(Object o) throws IOException {
		return written.of(o);
	}

	/** Converts what a subclass's replaceObject returns, whether or not it has called super. */
	public static Object written(ObjectOutputStream out, Object o) throws IOException {
		return out instanceof PicoObjectOutputStream
			? ((PicoObjectOutputStream) out).written.of(o) : o;
	}

	// each: private T m(..) { return if (sink != null) sink.m(..); }
	void enter(); void exit() throws IOException;

	/** Replaces writeObject, which is final. */
	public static void writeObject(ObjectOutput out, Object x) throws IOException {
		if (!(out instanceof PicoObjectOutputStream)) {
			out.writeObject(x);
			return;
		}
		PicoObjectOutputStream o = (PicoObjectOutputStream) out;
		o.enter();
		try {
			((ObjectOutputStream) out).writeObject(x);
		} finally {
			o.exit();
		}
	}

	@Override
	public void write(byte[] b) throws IOException {
		write(b, 0, b.length);
	}

	// each: @Override public T m(..) throws IOException {
	//	enter(); try { super.m(..); } finally { exit(); } }
	void write(int b); void write(byte[] b, int off, int len); void flush(); void close();
	void writeBoolean(boolean x); void writeByte(int x); void writeShort(int x);
	void writeChar(int x); void writeInt(int x); void writeLong(long x);
	void writeFloat(float x); void writeDouble(double x); void writeBytes(String x);
	void writeChars(String x); void writeUTF(String x); void writeUnshared(Object x);

	@Override
	public void reset() throws IOException {
		enter();
		try {
			super.reset();
			written = new Written();
		} finally {
			exit();
		}
	}
}
