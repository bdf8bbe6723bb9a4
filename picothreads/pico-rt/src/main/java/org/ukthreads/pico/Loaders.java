// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.net.URLStreamHandlerFactory;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Enumeration;

/**
 * The system class loader as seen by a program that was translated in memory. Such a program is
 * not on the JVM's class path; its own loader takes the place of the system class loader.
 * Thread-safe.
 */
@Internal
public final class Loaders {
	/**
	 * Translates classes that the program makes at run time. The loader of a translated program
	 * implements it.
	 */
	public interface Definer {
		/** The class file to define in place of this one. */
		byte[] defined(ClassLoader by, byte[] file);
	}

	private static volatile ClassLoader system;
	/** For loaders without a Definer above them. */
	private static volatile Definer definer;

	private Loaders() {}

	/** Sets the loader of the program; null: the JVM's own. */
	public static void program(ClassLoader l) {
		system = l;
	}

	public static ClassLoader getSystemClassLoader() {
		ClassLoader l = system;
		return l != null ? l : ClassLoader.getSystemClassLoader();
	}

	public static URL getSystemResource(String name) {
		return getSystemClassLoader().getResource(name);
	}

	public static Enumeration<URL> getSystemResources(String name) throws IOException {
		return getSystemClassLoader().getResources(name);
	}

	public static InputStream getSystemResourceAsStream(String name) {
		return getSystemClassLoader().getResourceAsStream(name);
	}

	/** Replaces new URLClassLoader(urls): the parent is the program's system class loader. */
	public static URLClassLoader make(URL[] urls) {
		others(urls);
		return new URLClassLoader(urls, getSystemClassLoader());
	}

	/**
	 * Called, with its last argument, before the program makes a URLClassLoader, whose classes
	 * nobody translates. Under the agent there is a Definer, which gets them.
	 */
	public static void others(URL[] urls) {
		if (definer == null)
			Walk.strangers = true;
	}

	public static void others(ClassLoader parent) {
		others((URL[]) null);
	}

	public static void others(URLStreamHandlerFactory f) {
		others((URL[]) null);
	}

	/* --- classes that the program makes --- */

	/** Sets the Definer for loaders without a Definer above them. */
	public static void definer(Definer d) {
		definer = d;
	}

	/**
	 * An agent is about to replace the code of this loaded class: calls that it inserts have no
	 * handlers.
	 */
	public static void rewritten(Class<?> k) {
		Walk.rewritten(k);
	}

	private static byte[] made(Object by, byte[] file) {
		ClassLoader l = by instanceof ClassLoader ? (ClassLoader) by : Loaders.class
			.getClassLoader();
		if (by instanceof java.lang.invoke.MethodHandles.Lookup)
			l = ((java.lang.invoke.MethodHandles.Lookup) by).lookupClass().getClassLoader();
		Definer d = definer;
		for (ClassLoader k = l; k != null; k = k.getParent())
			if (k instanceof Definer)
				d = (Definer) k;
		if (d == null && system instanceof Definer)
			d = (Definer) system;
		byte[] b = d == null ? file : d.defined(l, file);
		if (b == file)
			Walk.strangers = true;
		return b;
	}

	/** Returns the class file that `by`, a loader or a Lookup, is to define. */
	public static byte[] define(Object by, byte[] b, int off, int len) {
		if (b == null || off < 0 || len < 0 || off > b.length - len)
			return b;
		return made(by, Arrays.copyOfRange(b, off, off + len));
	}

	public static byte[] define(Object by, byte[] b) {
		return b == null ? null : made(by, b);
	}

	public static ByteBuffer define(Object by, ByteBuffer b) {
		byte[] file = new byte[b.remaining()];
		b.get(file);
		return ByteBuffer.wrap(made(by, file));
	}
}
