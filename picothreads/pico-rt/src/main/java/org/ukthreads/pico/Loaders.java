package org.ukthreads.pico;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.Enumeration;

/**
 * The system class loader, as a program sees it that was translated in memory: it is not on
 * the class path of the JVM, but its loader stands for that. Any thread may call.
 */
public final class Loaders {
	private static volatile ClassLoader system;

	private Loaders() {}

	/** Who loads the program; null: the JVM's own. */
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

	/** new URLClassLoader(urls): its parent is the system's. */
	public static URLClassLoader make(URL[] urls) {
		return new URLClassLoader(urls, getSystemClassLoader());
	}
}
