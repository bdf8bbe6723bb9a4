// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.zip.Deflater;
import java.util.zip.DeflaterInputStream;

/**
 * DeflaterInputStream that uses the protected fields of the superclass, which ends a deflater
 * that it has made.
 */
public class PicoDeflaterInputStream extends DeflaterInputStream {
	private boolean end;

	public PicoDeflaterInputStream(InputStream in) {
		super(in);
	}

	public PicoDeflaterInputStream(InputStream in, Deflater def) {
		super(in, def);
	}

	public PicoDeflaterInputStream(InputStream in, Deflater def, int size) {
		super(in, def, size);
	}

	private void check() throws IOException {
		if (in == null)
			throw new IOException("Stream closed");
	}

	@Override
	public int read() throws IOException {
		byte[] one = new byte[1];
		return read(one, 0, 1) <= 0 ? -1 : one[0] & 0xff;
	}

	// = PicoFilterInputStream: read

	@Override
	public int read(byte[] b, int off, int len) throws IOException {
		check();
		PicoInputStream.check(b, off, len);
		if (len == 0)
			return 0;
		int all = 0;
		while (len > 0 && !def.finished()) {
			if (def.needsInput()) {
				int n = in.read(buf, 0, buf.length);
				if (n < 0)
					def.finish();
				else if (n > 0)
					def.setInput(buf, 0, n);
			}
			int n = def.deflate(b, off, len);
			all += n;
			off += n;
			len -= n;
		}
		end |= def.finished();
		return all == 0 && end ? -1 : all;
	}

	@Override
	public long skip(long n) throws IOException {
		if (n < 0)
			throw new IllegalArgumentException("negative skip length");
		check();
		return PicoInputStream.skip(this, n);
	}

	@Override
	public int available() throws IOException {
		check();
		return end ? 0 : 1;
	}

	@Override
	public void close() throws IOException {
		if (in == null)
			return;
		InputStream i = in;
		in = Inflate.nothing();
		super.close();
		i.close();
	}

	// = PicoFilterInputStream: as in PicoInputStream
}
