package org.ukthreads.pico.translate;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLConnection;
import java.net.URLStreamHandler;
import java.util.Collections;
import java.util.Enumeration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.ukthreads.pico.translate.read.ClassPath;

/**
 * Runs a translated program in memory: defines its classes and serves its resources;
 * everything else (the JDK, the runtime) comes from the parent.
 */
public final class PicoLoader extends ClassLoader {
	private final Map<String, byte[]> classes;
	private final Map<String, byte[]> resources;

	static {
		registerAsParallelCapable();
	}

	public PicoLoader(Map<String, byte[]> classes, Map<String, byte[]> resources,
			ClassLoader parent) {
		super(parent);
		this.classes = new LinkedHashMap<>(classes);
		this.resources = resources;
	}

	/** Translates a class path and makes the loader that runs it. */
	public static PicoLoader translate(ClassPath program, ClassPath libraries,
			Translator.Options options, ClassLoader parent, java.util.function.Consumer<Report> to) {
		Translator t = Translator.of(program, libraries, options);
		Map<String, byte[]> out = t.run();
		to.accept(t.report());
		return new PicoLoader(out, program.entries(), parent);
	}

	@Override
	protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
		synchronized (getClassLoadingLock(name)) {
			Class<?> c = findLoadedClass(name);
			if (c == null) {
				byte[] b = classes.get(name.replace('.', '/'));
				c = b == null ? super.loadClass(name, false)
					: defineClass(name, b, 0, b.length);
			}
			if (resolve)
				resolveClass(c);
			return c;
		}
	}

	@Override
	public URL getResource(String name) {
		URL u = findResource(name);
		return u != null ? u : super.getResource(name);
	}

	@Override
	protected URL findResource(String name) {
		byte[] b = resources.get(name);
		if (name.endsWith(".class") && classes.containsKey(cut(name)))
			b = classes.get(cut(name));
		if (b == null)
			return null;
		byte[] content = b;
		try {
			return new URL("pico", null, -1, "/" + name, new URLStreamHandler() {
				@Override
				protected URLConnection openConnection(URL u) {
					return new Memory(u, content);
				}
			});
		} catch (MalformedURLException e) {
			throw new IllegalStateException(e);
		}
	}

	private static String cut(String name) {
		return name.substring(0, name.length() - 6);
	}

	@Override
	protected Enumeration<URL> findResources(String name) {
		URL u = findResource(name);
		return u == null ? Collections.emptyEnumeration()
			: Collections.enumeration(Collections.singleton(u));
	}

	private static final class Memory extends URLConnection {
		private final byte[] content;

		Memory(URL u, byte[] content) {
			super(u);
			this.content = content;
		}

		@Override
		public void connect() {}

		@Override
		public int getContentLength() {
			return content.length;
		}

		@Override
		public InputStream getInputStream() throws IOException {
			return new ByteArrayInputStream(content);
		}
	}
}
