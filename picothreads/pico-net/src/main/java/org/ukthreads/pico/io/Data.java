// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.DataInput;
import java.io.DataInputStream;
import java.io.DataOutput;
import java.io.IOException;

/*
 * Replacements for the methods of DataInputStream and DataOutputStream, most of which are
 * final, and for those of the two interfaces. Our streams read and write with methods that can
 * be overridden; for others the original method is called.
 */
public final class Data {
	private Data() {}

	public static int read(DataInputStream in, byte[] b) throws IOException {
		return read(in, b, 0, b.length);
	}

	public static int read(DataInputStream in, byte[] b, int off, int len)
			throws IOException {
		return in instanceof PicoDataInputStream
			? ((PicoDataInputStream) in).bytes(b, off, len) : in.read(b, off, len);
	}

	public static void readFully(DataInput in, byte[] b) throws IOException {
		if (in instanceof PicoDataInputStream)
			((PicoDataInputStream) in).readFully0(b);
		else
			in.readFully(b);
	}

	public static void readFully(DataInput in, byte[] b, int off, int len) throws IOException {
		if (in instanceof PicoDataInputStream)
			((PicoDataInputStream) in).readFully0(b, off, len);
		else
			in.readFully(b, off, len);
	}

	public static int skipBytes(DataInput in, int n) throws IOException {
		return in instanceof PicoDataInputStream ? ((PicoDataInputStream) in).skipBytes0(n)
			: in.skipBytes(n);
	}

	public static boolean readBoolean(DataInput in) throws IOException {
		return in instanceof PicoDataInputStream ? ((PicoDataInputStream) in).readBoolean0()
			: in.readBoolean();
	}

	public static byte readByte(DataInput in) throws IOException {
		return in instanceof PicoDataInputStream ? ((PicoDataInputStream) in).readByte0()
			: in.readByte();
	}

	public static int readUnsignedByte(DataInput in) throws IOException {
		return in instanceof PicoDataInputStream ? ((PicoDataInputStream) in).readUnsignedByte0()
			: in.readUnsignedByte();
	}

	public static short readShort(DataInput in) throws IOException {
		return in instanceof PicoDataInputStream ? ((PicoDataInputStream) in).readShort0()
			: in.readShort();
	}

	public static int readUnsignedShort(DataInput in) throws IOException {
		return in instanceof PicoDataInputStream ? ((PicoDataInputStream) in).readUnsignedShort0()
			: in.readUnsignedShort();
	}

	public static char readChar(DataInput in) throws IOException {
		return in instanceof PicoDataInputStream ? ((PicoDataInputStream) in).readChar0()
			: in.readChar();
	}

	public static int readInt(DataInput in) throws IOException {
		return in instanceof PicoDataInputStream ? ((PicoDataInputStream) in).readInt0()
			: in.readInt();
	}

	public static long readLong(DataInput in) throws IOException {
		return in instanceof PicoDataInputStream ? ((PicoDataInputStream) in).readLong0()
			: in.readLong();
	}

	public static float readFloat(DataInput in) throws IOException {
		return in instanceof PicoDataInputStream ? ((PicoDataInputStream) in).readFloat0()
			: in.readFloat();
	}

	public static double readDouble(DataInput in) throws IOException {
		return in instanceof PicoDataInputStream ? ((PicoDataInputStream) in).readDouble0()
			: in.readDouble();
	}

	public static String readLine(DataInput in) throws IOException {
		return in instanceof PicoDataInputStream ? ((PicoDataInputStream) in).readLine0()
			: in.readLine();
	}

	public static String readUTF(DataInput in) throws IOException {
		return in instanceof PicoDataInputStream ? ((PicoDataInputStream) in).readUTF0()
			: in.readUTF();
	}

	public static void writeBoolean(DataOutput out, boolean x) throws IOException {
		if (out instanceof PicoDataOutputStream)
			((PicoDataOutputStream) out).writeBoolean0(x);
		else
			out.writeBoolean(x);
	}

	public static void writeByte(DataOutput out, int x) throws IOException {
		if (out instanceof PicoDataOutputStream)
			((PicoDataOutputStream) out).writeByte0(x);
		else
			out.writeByte(x);
	}

	public static void writeShort(DataOutput out, int x) throws IOException {
		if (out instanceof PicoDataOutputStream)
			((PicoDataOutputStream) out).writeShort0(x);
		else
			out.writeShort(x);
	}

	public static void writeChar(DataOutput out, int x) throws IOException {
		if (out instanceof PicoDataOutputStream)
			((PicoDataOutputStream) out).writeChar0(x);
		else
			out.writeChar(x);
	}

	public static void writeInt(DataOutput out, int x) throws IOException {
		if (out instanceof PicoDataOutputStream)
			((PicoDataOutputStream) out).writeInt0(x);
		else
			out.writeInt(x);
	}

	public static void writeLong(DataOutput out, long x) throws IOException {
		if (out instanceof PicoDataOutputStream)
			((PicoDataOutputStream) out).writeLong0(x);
		else
			out.writeLong(x);
	}

	public static void writeFloat(DataOutput out, float x) throws IOException {
		if (out instanceof PicoDataOutputStream)
			((PicoDataOutputStream) out).writeFloat0(x);
		else
			out.writeFloat(x);
	}

	public static void writeDouble(DataOutput out, double x) throws IOException {
		if (out instanceof PicoDataOutputStream)
			((PicoDataOutputStream) out).writeDouble0(x);
		else
			out.writeDouble(x);
	}

	public static void writeBytes(DataOutput out, String x) throws IOException {
		if (out instanceof PicoDataOutputStream)
			((PicoDataOutputStream) out).writeBytes0(x);
		else
			out.writeBytes(x);
	}

	public static void writeChars(DataOutput out, String x) throws IOException {
		if (out instanceof PicoDataOutputStream)
			((PicoDataOutputStream) out).writeChars0(x);
		else
			out.writeChars(x);
	}

	public static void writeUTF(DataOutput out, String x) throws IOException {
		if (out instanceof PicoDataOutputStream)
			((PicoDataOutputStream) out).writeUTF0(x);
		else
			out.writeUTF(x);
	}
}
