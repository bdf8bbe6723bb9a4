// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/*
 * Up to 16 frames in one object, for a large number of waiting threads: 12 bytes a frame where
 * the frames took 40. It takes the place of these frames in the chain (its site is null, unlike
 * any other frame's), and the trampoline opens it when it gets there.
 *
 *   bytes   for each frame, innermost first: site, ints, longs, references
 *   refs    the sites and the objects to which the indices in `bytes` refer; 0 is null
 *
 * All values in `bytes` have seven bits a byte, least significant first; signed ones are folded
 * (0 -1 1 -2). The opened frames are fresh copies of the site's blank one, so a Packed can be
 * opened again (fork, dumps from other threads). Packing costs about as much as a suspension of
 * the same depth, so it is used only among many threads: PicoRuntime.packs.
 */
final class Packed extends Frame {
	static final int MOST = 16;
	/** Fewer frames are not worth the three objects. */
	private static final int LEAST = 4;

	private final byte[] bytes;
	private final Object[] refs;

	private Packed(byte[] bytes, Object[] refs) {
		this.bytes = bytes;
		this.refs = refs;
	}

	@Override
	int shape() {
		throw new IllegalStateException("a packed frame must be opened first");
	}

	/** Packs the frames at the beginning of a chain and returns the new chain. */
	static Frame pack(Frame top) {
		int n = 0;
		for (Frame f = top; f != null && f.site != null; f = f.next)
			n++;
		if (n < LEAST)
			return top;
		Packer p = new Packer();
		Packed first = null;
		Packed last = null;
		Frame f = top;
		while (f != null && f.site != null) {
			int k = 0;
			for (; k < MOST && f != null && f.site != null; k++, f = f.next)
				p.frame(f);
			Packed g = p.take();
			if (first == null)
				first = g;
			else
				last.next = g;
			last = g;
		}
		last.next = f;
		return first;
	}

	private static final class Packer {
		private byte[] bytes = new byte[128];
		private int n;
		private Object[] refs = new Object[8];
		private int count;

		Packed take() {
			Packed p = new Packed(Arrays.copyOf(bytes, n), Arrays.copyOf(refs, count));
			n = 0;
			Arrays.fill(refs, 0, count, null);
			count = 0;
			return p;
		}

		void frame(Frame f) {
			Site s = f.site;
			if (s.blank == null)
				s.blank = blank(f);
			number(ref(s));
			int shape = f.shape();
			for (int k = 0, m = shape >>> 20; k < m; k++)
				signed(f.getI(k));
			for (int k = 0, m = shape >>> 10 & 1023; k < m; k++)
				signed(f.getJ(k));
			for (int k = 0, m = shape & 1023; k < m; k++)
				number(ref(f.getA(k)));
		}

		private static Frame blank(Frame f) {
			Frame b = f.copy();
			b.next = null;
			for (int k = 0, m = b.refs(); k < m; k++)
				b.setA(k, null);
			return b;
		}

		private int ref(Object o) {
			if (o == null)
				return 0;
			for (int k = 0; k < count; k++)
				if (refs[k] == o)
					return k + 1;
			if (count == refs.length)
				refs = Arrays.copyOf(refs, 2 * count);
			refs[count++] = o;
			return count;
		}

		private void signed(long v) {
			number(v << 1 ^ v >> 63);
		}

		private void number(long v) {
			if (n + 10 > bytes.length)
				bytes = Arrays.copyOf(bytes, 2 * bytes.length);
			for (; (v & ~127L) != 0; v >>>= 7)
				bytes[n++] = (byte) (v | 128);
			bytes[n++] = (byte) v;
		}
	}

	/**
	 * Returns the first of its frames, which are linked; the last is linked to what follows
	 * this one.
	 */
	Frame open() {
		return new Opener(this).all();
	}

	private static final class Opener {
		private final Packed p;
		private int at;

		Opener(Packed p) {
			this.p = p;
		}

		Frame all() {
			Frame first = null;
			Frame last = null;
			while (at < p.bytes.length) {
				Frame f = frame();
				if (first == null)
					first = f;
				else
					last.next = f;
				last = f;
			}
			last.next = p.next;
			return first;
		}

		private Frame frame() {
			Frame f = ((Site) p.refs[(int) number() - 1]).blank.copy();
			int shape = f.shape();
			for (int k = 0, m = shape >>> 20; k < m; k++)
				f.setI(k, (int) signed());
			for (int k = 0, m = shape >>> 10 & 1023; k < m; k++)
				f.setJ(k, signed());
			for (int k = 0, m = shape & 1023; k < m; k++) {
				int r = (int) number();
				if (r != 0)
					f.setA(k, p.refs[r - 1]);
			}
			return f;
		}

		private long signed() {
			long v = number();
			return v >>> 1 ^ -(v & 1);
		}

		private long number() {
			long v = 0;
			for (int shift = 0;; shift += 7) {
				byte b = p.bytes[at++];
				v |= (b & 127L) << shift;
				if (b >= 0)
					return v;
			}
		}
	}

	/** All frames of a chain, opened. The chain does not change. */
	static List<Frame> frames(Frame top) {
		List<Frame> l = new ArrayList<>();
		for (Frame f = top; f != null; f = f.next) {
			if (f.site != null) {
				l.add(f);
				continue;
			}
			Frame g = ((Packed) f).open();
			for (; g != f.next; g = g.next)
				l.add(g);
		}
		return l;
	}
}
