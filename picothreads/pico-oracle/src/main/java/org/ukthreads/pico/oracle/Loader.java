// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.oracle;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.security.CodeSource;
import java.security.ProtectionDomain;
import java.security.cert.Certificate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Loads the tests, their library and JUnit, in which it replaces Method.invoke by Calls.invoke. */
final class Loader extends URLClassLoader {
	private static final String OWN = "org.ukthreads.pico.oracle.junit.";

	static {
		registerAsParallelCapable();
	}

	Loader(URL[] path) {
		super(path, Loader.class.getClassLoader());
	}

	@Override
	protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
		if (!name.startsWith(OWN) && !name.startsWith("org.ukthreads.oracle."))
			return super.loadClass(name, resolve);
		synchronized (getClassLoadingLock(name)) {
			Class<?> c = findLoadedClass(name);
			return c != null ? c : findClass(name);
		}
	}

	private final List<Class<?>> classes = new ArrayList<>();
	private final Map<String, String> literals = new ConcurrentHashMap<>();

	/** The classes defined so far, in order, from number `from` on. */
	List<Class<?>> classes(int from) {
		synchronized (classes) {
			return List.copyOf(classes.subList(from, classes.size()));
		}
	}

	/** The string constants of its classes, each to the object that it is. */
	Map<String, String> literals() {
		return literals;
	}

	@Override
	protected Class<?> findClass(String name) throws ClassNotFoundException {
		Class<?> c = find(name);
		synchronized (classes) {
			classes.add(c);
		}
		findLiterals(name);
		return c;
	}

	private void findLiterals(String name) {
		try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
			if (in == null)
				return;
			ClassReader r = new ClassReader(in);
			char[] buffer = new char[r.getMaxStringLength()];
			for (int k = 1; k < r.getItemCount(); k++)
				if (r.getItem(k) > 0 && r.readByte(r.getItem(k) - 1) == STRING) {
					String s = r.readUTF8(r.getItem(k), buffer).intern();
					literals.put(s, s);
				}
		} catch (IOException e) {
			throw new UncheckedIOException(e);
		}
	}

	/** The tag of a string in a constant pool. */
	private static final int STRING = 8;

	private Class<?> find(String name) throws ClassNotFoundException {
		boolean own = name.startsWith(OWN);
		if (!own && !name.startsWith("org.junit.") && !name.startsWith("junit."))
			return super.findClass(name);
		String file = name.replace('.', '/') + ".class";
		URL u = own ? getParent().getResource(file) : findResource(file);
		if (u == null)
			throw new ClassNotFoundException(name);
		byte[] b;
		try (InputStream in = u.openStream()) {
			b = in.readAllBytes();
		} catch (IOException e) {
			throw new ClassNotFoundException(name, e);
		}
		/* Translated assertions belong to the program and stay as they are. */
		byte[] c = own || u.getProtocol().equals("file") ? b : rewrite(b);
		return defineClass(name, c, 0, c.length, new ProtectionDomain(
			new CodeSource(u, (Certificate[]) null), null, this, null));
	}

	private static byte[] rewrite(byte[] file) {
		ClassWriter w = new ClassWriter(0);
		new ClassReader(file).accept(new ClassVisitor(Opcodes.ASM9, w) {
			@Override
			public MethodVisitor visitMethod(int access, String name, String desc, String sig,
					String[] ex) {
				return new MethodVisitor(Opcodes.ASM9,
						super.visitMethod(access, name, desc, sig, ex)) {
					@Override
					public void visitMethodInsn(int op, String owner, String n, String d,
							boolean itf) {
						if (owner.equals("java/lang/reflect/Method") && n.equals("invoke"))
							super.visitMethodInsn(Opcodes.INVOKESTATIC,
								"org/ukthreads/pico/oracle/Calls", n,
								"(Ljava/lang/reflect/Method;" + d.substring(1), false);
						else
							super.visitMethodInsn(op, owner, n, d, itf);
					}
				};
			}
		}, 0);
		return w.toByteArray();
	}
}
