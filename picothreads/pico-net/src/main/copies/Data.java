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

	// each: public static T m(DataInput in, ..) throws IOException {
	//	if (in instanceof PicoDataInputStream) ((PicoDataInputStream) in).m0(..);
	//	else in.m(..); }
	void readFully(byte[] b); void readFully(byte[] b, int off, int len);

	// each: public static T m(DataInput in, ..) throws IOException {
	//	return in instanceof PicoDataInputStream ? ((PicoDataInputStream) in).m0(..)
	//	: in.m(..); }
	int skipBytes(int n); boolean readBoolean(); byte readByte(); int readUnsignedByte();
	short readShort(); int readUnsignedShort(); char readChar(); int readInt();
	long readLong(); float readFloat(); double readDouble(); String readLine();
	String readUTF();

	// each: public static T m(DataOutput out, ..) throws IOException {
	//	if (out instanceof PicoDataOutputStream) ((PicoDataOutputStream) out).m0(..);
	//	else out.m(..); }
	void writeBoolean(boolean x); void writeByte(int x); void writeShort(int x);
	void writeChar(int x); void writeInt(int x); void writeLong(long x);
	void writeFloat(float x); void writeDouble(double x); void writeBytes(String x);
	void writeChars(String x); void writeUTF(String x);
}
