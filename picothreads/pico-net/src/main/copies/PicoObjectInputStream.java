// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInput;
import java.io.ObjectInputStream;
import java.io.ObjectStreamClass;
import java.io.OutputStream;
import java.io.StreamCorruptedException;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import org.ukthreads.pico.Callers;
import org.ukthreads.pico.juc.Resolved;

/*
 * The JDK's ObjectInputStream over a Feed. Before the JDK reads anything, code that may park
 * takes from the source as much as it will read: a whole object (ObjectShape), or blocks of
 * primitive data. So the data for nested reads of the program's readObject methods (`depth`)
 * is there already.
 *
 * The header is read by pico$new, as the JDK's constructor does. In a subclass the constructor
 * reads it if it is there without waiting; otherwise the first act reads it, because a constructor
 * would pin. A subclass with a header or class descriptors of its own reads as the JDK does, and
 * pins.
 *
 * Locks, queues and collections with the JDK's names become ours (Resolved) in resolveObject.
 * The JDK always calls ours; it calls that of a subclass only after enableResolveObject. A rule
 * passes what a subclass returns there through resolved().
 */
public class PicoObjectInputStream extends ObjectInputStream {
	private static final int HEADER = 4;
	private Feed feed;
	private ObjectShape shape;
	/** Has no initialiser, because the superclass's constructor sets it. */
	private boolean headerToCome;
	private int depth;
	/**
	 * The class loader of the reading method. The JDK looks for it on the stack and would find
	 * ours.
	 */
	private ClassLoader caller;
	private final Resolved resolved = new Resolved();
	/** The last argument of the program's enableResolveObject. */
	private boolean asked;
	/** Primitive data that was taken from the source but not read yet. */
	private byte[] block = new byte[0];
	private int from;

	protected PicoObjectInputStream() throws IOException {}

	public PicoObjectInputStream(InputStream in) throws IOException {
		this(new Feed(in));
	}

	private PicoObjectInputStream(Feed feed) throws IOException {
		super(feed);
		if (!RESOLVES.get(getClass()))
			super.enableResolveObject(true);
		this.feed = feed;
		shape = new ObjectShape(feed);
		if (OWN_HEADER.get(getClass()) || OWN_DESCRIPTORS.get(getClass()))
			feed.lost = true;
		else if (headerToCome && in(feed) >= HEADER)
			header();
	}

	/**
	 * Returns how many bytes are there without waiting; 0 on an error, which a read will
	 * report.
	 */
	private static int in(Feed feed) {
		try {
			return feed.source.available();
		} catch (IOException e) {
			return 0;
		}
	}

	public static PicoObjectInputStream pico$new(InputStream in) throws IOException {
		PicoObjectInputStream o = new PicoObjectInputStream(new Feed(in));
		if (o.headerToCome)
			o.header();
		return o;
	}

	private static final ClassValue<Boolean> OWN_HEADER = own("readStreamHeader");
	private static final ClassValue<Boolean> OWN_DESCRIPTORS = own("readClassDescriptor");
	private static final ClassValue<Boolean> RESOLVES = own("resolveObject", Object.class);

	private static ClassValue<Boolean> own(String method, Class<?>... types) {
		return new Overrides(PicoObjectInputStream.class, method, types);
	}

	/**
	 * Called by the superclass's constructor. Postpones the header, unless a subclass has its
	 * own.
	 */
	@Override
	protected void readStreamHeader() throws IOException {
		headerToCome = !OWN_HEADER.get(getClass());
		if (!headerToCome)
			super.readStreamHeader();
	}

	private void header() throws IOException {
		headerToCome = false;
		int magic = (int) feed.number(2);
		int version = (int) feed.number(2);
		feed.taken();
		if (magic != (STREAM_MAGIC & 0xffff) || version != STREAM_VERSION)
			throw new StreamCorruptedException(String.format("invalid stream header: %04X%04X",
				magic, version));
	}

	/**
	 * Returns true if bytes may be taken ahead: no read is under way, and the position is
	 * known.
	 */
	private boolean begin() throws IOException {
		if (feed == null || depth > 0)
			return false;
		if (headerToCome)
			header();
		if (from == block.length && !feed.even())
			feed.lost = true;
		return !feed.lost;
	}

	/** Returns the first byte of the next element, after any resets. */
	private int tag() throws IOException {
		int tag;
		while ((tag = feed.peek()) == TC_RESET) {
			feed.octet();
			shape.reset();
		}
		return tag;
	}

	private static boolean isBlock(int tag) {
		return tag == TC_BLOCKDATA || tag == TC_BLOCKDATALONG;
	}

	private void object() throws IOException {
		if (!begin() || from < block.length)
			return;
		int tag = tag();
		if (isBlock(tag))
			blocks(1);
		else if (tag >= 0)
			take(null);
	}

	/**
	 * Takes blocks until n bytes of primitive data are there; false: an object or the end
	 * comes first. Does nothing in the superclass's constructor, where a subclass may read its
	 * own header.
	 */
	private boolean blocks(int n) throws IOException {
		if (feed == null)
			return false;
		while (block.length - from < n && begin() && isBlock(tag()))
			take(block);
		return block.length - from >= n;
	}

	/**
	 * Takes an object (`more` is null), or a block of primitive data, which is added to
	 * `block`.
	 */
	private void take(byte[] more) throws IOException {
		boolean done = false;
		try {
			if (more == null)
				shape.element();
			else
				add(feed.bytes((int) feed.number(feed.octet() == TC_BLOCKDATA ? 1 : 4)));
			done = true;
		} catch (ObjectShape.Unclear e) {
			/* The stream is lost: the JDK reads the element, or finds the error. */
		} finally {
			feed.lost |= !done;
		}
	}

	private void add(byte[] b) {
		byte[] all = new byte[block.length - from + b.length];
		System.arraycopy(block, from, all, 0, block.length - from);
		System.arraycopy(b, 0, all, block.length - from, b.length);
		block = all;
		from = 0;
	}

	/** Called when n bytes of primitive data were read. */
	private void read(long n) {
		if (feed != null && depth == 0)
			from = (int) Math.min(block.length, from + Math.max(0, n));
	}

	/** Replaces readObject, which is final. */
	public static Object readObject(ObjectInput in)
			throws IOException, ClassNotFoundException {
		if (!(in instanceof PicoObjectInputStream))
			return in.readObject();
		PicoObjectInputStream o = (PicoObjectInputStream) in;
		ClassLoader before = o.enter(Callers.loader());
		try {
			return ((ObjectInputStream) in).readObject();
		} finally {
			o.leave(before);
		}
	}

	@Override
	public Object readUnshared() throws IOException, ClassNotFoundException {
		ClassLoader before = enter(Callers.loader());
		try {
			return super.readUnshared();
		} finally {
			leave(before);
		}
	}

	@Override
	protected boolean enableResolveObject(boolean enable) {
		boolean before = asked;
		if (RESOLVES.get(getClass()))
			super.enableResolveObject(enable);
		asked = enable;
		return before;
	}

	@Override
	protected Object resolveObject(Object o) throws IOException {
		return resolved.of(o);
	}

	/** Converts what a subclass's resolveObject returns, whether or not it has called super. */
	public static Object resolved(ObjectInputStream in, Object o) throws IOException {
		return in instanceof PicoObjectInputStream ? ((PicoObjectInputStream) in).resolved.of(o) : o;
	}

	private ClassLoader enter(ClassLoader c) throws IOException {
		object();
		ClassLoader before = caller;
		caller = c;
		depth++;
		return before;
	}

	private void leave(ClassLoader before) {
		depth--;
		caller = before;
	}

	private ClassLoader caller() {
		return caller != null ? caller : Callers.loader();
	}

	@Override
	protected Class<?> resolveClass(ObjectStreamClass c)
			throws IOException, ClassNotFoundException {
		try {
			return Class.forName(c.getName(), false, caller());
		} catch (ClassNotFoundException e) {
			return super.resolveClass(c);
		}
	}

	@Override
	protected Class<?> resolveProxyClass(String[] names)
			throws IOException, ClassNotFoundException {
		ClassLoader l = caller();
		ClassLoader hidden = null;
		Class<?>[] all = new Class<?>[names.length];
		for (int k = 0; k < all.length; k++) {
			all[k] = Class.forName(names[k], false, l);
			if (Modifier.isPublic(all[k].getModifiers()))
				continue;
			if (hidden != null && hidden != all[k].getClassLoader())
				throw new IllegalAccessError(
					"conflicting non-public interface class loaders");
			hidden = all[k].getClassLoader();
		}
		try {
			return Proxy.getProxyClass(hidden != null ? hidden : l, all);
		} catch (IllegalArgumentException e) {
			throw new ClassNotFoundException(null, e);
		}
	}

	@Override
	public int read() throws IOException {
		blocks(1);
		int c = super.read();
		read(c < 0 ? 0 : 1);
		return c;
	}

	@Override
	public int read(byte[] b) throws IOException {
		return read(b, 0, b.length);
	}

	@Override
	public int read(byte[] b, int off, int len) throws IOException {
		if (len > 0)
			blocks(1);
		int n = super.read(b, off, len);
		read(n);
		return n;
	}

	@Override
	public int available() throws IOException {
		if (begin())
			feed.pull();
		return super.available();
	}

	@Override
	public long skip(long n) throws IOException {
		return PicoInputStream.skip(this, n);
	}

	@Override
	public int skipBytes(int n) throws IOException {
		blocks(n);
		int k = super.skipBytes(n);
		read(k);
		return k;
	}

	@Override
	public void readFully(byte[] b) throws IOException {
		readFully(b, 0, b.length);
	}

	@Override
	public void readFully(byte[] b, int off, int len) throws IOException {
		blocks(len);
		super.readFully(b, off, len);
		read(len);
	}

	@Override
	public String readUTF() throws IOException {
		int n = 2;
		if (blocks(n)) {
			n += (block[from] & 0xff) << 8 | block[from + 1] & 0xff;
			blocks(n);
		}
		String s = super.readUTF();
		read(n);
		return s;
	}

	// each: @Override public T m(..) throws IOException {
	//	blocks(X); T x = super.m(..); read(X); return x; }
	boolean readBoolean() = 1; byte readByte() = 1; int readUnsignedByte() = 1;
	char readChar() = 2; short readShort() = 2; int readUnsignedShort() = 2;
	int readInt() = 4; float readFloat() = 4; long readLong() = 8; double readDouble() = 8;

	@Override
	public void close() throws IOException {
		if (feed != null)
			feed.shut = true;
		super.close();
		if (feed != null)
			feed.source.close();
	}

	// = PicoFilterInputStream: as in PicoInputStream
}
