// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.JarURLConnection;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.net.URLConnection;
import java.net.URLStreamHandler;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.CodeSource;
import java.security.ProtectionDomain;
import java.security.cert.Certificate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Enumeration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import org.objectweb.asm.ClassReader;
import org.ukthreads.pico.Loaders;
import org.ukthreads.pico.translate.read.ClassPath;

/**
 * Runs a translated program in memory. It defines the program's classes as if from the jars and
 * folders that they were in (code source, package versions). Resources are those of the class path,
 * under their own URLs. The resource of a translated class has the original's URL, because programs
 * find their own folders by it, but its content is the translated class. Everything else (the JDK,
 * the runtime) comes from the parent.
 */
public final class PicoLoader extends ClassLoader implements Loaders.Definer {
	private final Classes classes;
	private final URLClassLoader resources;
	private final Map<Path, ProtectionDomain> domains = new ConcurrentHashMap<>();
	private final Map<Path, Optional<Manifest>> manifests = new ConcurrentHashMap<>();

	static {
		registerAsParallelCapable();
	}

	/** classes: by their names, with slashes; program: what they were translated from. */
	public PicoLoader(Map<String, byte[]> classes, ClassPath program, ClassLoader parent) {
		this(Classes.of(new LinkedHashMap<>(classes), program, null), parent);
	}

	public PicoLoader(Classes classes, ClassLoader parent) {
		super(parent);
		this.classes = classes;
		List<URL> urls = new ArrayList<>();
		for (Path p : classes.paths())
			urls.add(url(p));
		resources = new URLClassLoader(urls.toArray(new URL[0]), null);
	}

	private static URL url(Path p) {
		try {
			return p.toUri().toURL();
		} catch (MalformedURLException e) {
			throw new IllegalArgumentException(p.toString(), e);
		}
	}

	/** A new loader of the same program, which shares no static field with this one. */
	public PicoLoader again() {
		return new PicoLoader(classes, getParent());
	}

	/** Translates a class path and makes the loader that runs it. */
	public static PicoLoader translate(ClassPath program, ClassPath libraries,
			Translator.Options options, ClassLoader parent, Consumer<Report> to) {
		Translator t = Translator.of(program, libraries, options);
		Map<String, byte[]> out = t.run();
		to.accept(t.report());
		return new PicoLoader(Classes.of(out, program, t.dynamic()), parent);
	}

	@Override
	public byte[] defined(ClassLoader by, byte[] file) {
		Dynamic d = classes.dynamic();
		return d == null ? file : d.defined(by, by == this ? file : original(file));
	}

	/**
	 * A loader of the program may define what it has read here as a resource. Only this loader may
	 * define a translated class, because it also defines the companion; other loaders get the
	 * original.
	 */
	private byte[] original(byte[] file) {
		try {
			String name = new ClassReader(file).getClassName() + ".class";
			if (!Arrays.equals(file, translated(name)))
				return file;
			try (InputStream in = resources.getResourceAsStream(name)) {
				return in == null ? file : in.readAllBytes();
			}
		} catch (IOException | RuntimeException e) {
			/* It is not a class file: defining it will throw. */
			return file;
		}
	}

	@Override
	protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
		synchronized (getClassLoadingLock(name)) {
			Class<?> c = findLoadedClass(name);
			if (c == null) {
				ByteBuffer b = file(name.replace('.', '/'));
				c = b == null ? super.loadClass(name, false) : define(name, b);
			}
			if (resolve)
				resolveClass(c);
			return c;
		}
	}

	/** Null if the program has no such class. */
	private ByteBuffer file(String name) {
		ByteBuffer b = classes.mapped(name);
		if (b != null)
			return b;
		byte[] c = classes.get(name);
		return c == null ? null : ByteBuffer.wrap(c);
	}

	private Class<?> define(String name, ByteBuffer b) throws ClassNotFoundException {
		Path from = classes.origin(name.replace('.', '/'));
		int dot = name.lastIndexOf('.');
		if (from != null && dot > 0 && getDefinedPackage(name.substring(0, dot)) == null)
			definePackage(name.substring(0, dot), from);
		try {
			return defineClass(name, b, from == null ? null
				: domains.computeIfAbsent(from, p -> new ProtectionDomain(
					new CodeSource(url(p), (Certificate[]) null), null, this, null)));
		} catch (NoClassDefFoundError e) {
			if (e.getMessage() == null || !e.getMessage().contains("wrong name"))
				throw e;
			throw new ClassNotFoundException(name, e);
		}
	}

	private void definePackage(String name, Path from) {
		Manifest m = manifests.computeIfAbsent(from, PicoLoader::manifest).orElse(null);
		String[] v = new String[6];
		if (m != null) {
			Attributes of = m.getAttributes(name.replace('.', '/') + '/');
			Attributes.Name[] keys = {Attributes.Name.SPECIFICATION_TITLE,
				Attributes.Name.SPECIFICATION_VERSION, Attributes.Name.SPECIFICATION_VENDOR,
				Attributes.Name.IMPLEMENTATION_TITLE, Attributes.Name.IMPLEMENTATION_VERSION,
				Attributes.Name.IMPLEMENTATION_VENDOR};
			for (int k = 0; k < v.length; k++) {
				v[k] = of == null ? null : of.getValue(keys[k]);
				if (v[k] == null)
					v[k] = m.getMainAttributes().getValue(keys[k]);
			}
		}
		try {
			definePackage(name, v[0], v[1], v[2], v[3], v[4], v[5], null);
		} catch (IllegalArgumentException e) {
			/* Another thread was first. */
			return;
		}
	}

	private static Optional<Manifest> manifest(Path p) {
		if (Files.isDirectory(p))
			return Optional.empty();
		try (JarFile j = new JarFile(p.toFile())) {
			return Optional.ofNullable(j.getManifest());
		} catch (IOException e) {
			return Optional.empty();
		}
	}

	/* The program's resources come before the parent's, as its classes do. */

	@Override
	public URL getResource(String name) {
		URL u = findResource(name);
		return u != null ? u : super.getResource(name);
	}

	@Override
	public Enumeration<URL> getResources(String name) throws IOException {
		List<URL> all = Collections.list(findResources(name));
		if (getParent() != null)
			all.addAll(Collections.list(getParent().getResources(name)));
		return Collections.enumeration(all);
	}

	@Override
	protected URL findResource(String name) {
		byte[] b = translated(name);
		return b != null ? memory(name, b, resources.findResource(name))
			: resources.findResource(name);
	}

	@Override
	protected Enumeration<URL> findResources(String name) throws IOException {
		byte[] b = translated(name);
		return b != null ? Collections.enumeration(Collections.singleton(
			memory(name, b, resources.findResource(name)))) : resources.findResources(name);
	}

	private byte[] translated(String name) {
		return name.endsWith(".class") ? classes.changed(name.substring(0, name.length() - 6))
			: null;
	}

	/** of: the URL of the original; null if the program has none. */
	private static URL memory(String name, byte[] content, URL of) {
		try {
			return of == null ? new URL("pico", null, -1, "/" + name, new Handler(content, null))
				: new URL(of.getProtocol(), of.getHost(), of.getPort(), of.getFile(),
				new Handler(content, of));
		} catch (MalformedURLException e) {
			throw new IllegalStateException(e);
		}
	}

	/** For such a URL and for those that are made from it by a relative name. */
	private static final class Handler extends URLStreamHandler {
		private final byte[] content;
		private final URL of;

		Handler(byte[] content, URL of) {
			this.content = content;
			this.of = of;
		}

		@Override
		protected URLConnection openConnection(URL u) throws IOException {
			if (of == null)
				return new Memory(u, content, null);
			if (!u.getFile().equals(of.getFile()))
				return new URL(u.toExternalForm()).openConnection();
			URLConnection c = of.openConnection();
			return c instanceof JarURLConnection ? new InJar((JarURLConnection) c, content)
				: new Memory(u, content, c);
		}

		/** Parses as the scheme's own handler does; a jar's has special rules. */
		@Override
		protected void parseURL(URL u, String spec, int start, int limit) {
			if (of == null) {
				super.parseURL(u, spec, start, limit);
				return;
			}
			try {
				URL n = new URL(new URL(u.toExternalForm()), spec.substring(start, limit));
				setURL(u, n.getProtocol(), n.getHost(), n.getPort(), n.getAuthority(),
					n.getUserInfo(), n.getPath(), n.getQuery(), u.getRef());
			} catch (MalformedURLException e) {
				throw new IllegalArgumentException(e.getMessage(), e);
			}
		}
	}

	private static final class Memory extends URLConnection {
		private final byte[] content;
		/** To the original; null if there is none. */
		private final URLConnection of;

		Memory(URL u, byte[] content, URLConnection of) {
			super(u);
			this.content = content;
			this.of = of;
		}

		@Override
		public void connect() {}

		/** That of the original: Clojure loads the newer of a class and its source. */
		@Override
		public long getLastModified() {
			return of == null ? 0 : of.getLastModified();
		}

		@Override
		public String getContentType() {
			return of == null ? null : of.getContentType();
		}

		@Override
		public long getContentLengthLong() {
			return content.length;
		}

		@Override
		public InputStream getInputStream() {
			return new ByteArrayInputStream(content);
		}
	}

	private static final class InJar extends JarURLConnection {
		private final JarURLConnection of;
		private final byte[] content;

		InJar(JarURLConnection of, byte[] content) throws MalformedURLException {
			super(of.getURL());
			this.of = of;
			this.content = content;
		}

		@Override
		public void connect() throws IOException {
			of.connect();
		}

		@Override
		public JarFile getJarFile() throws IOException {
			return of.getJarFile();
		}

		@Override
		public String getContentType() {
			return of.getContentType();
		}

		@Override
		public void setUseCaches(boolean on) {
			of.setUseCaches(on);
		}

		@Override
		public boolean getUseCaches() {
			return of.getUseCaches();
		}

		@Override
		public long getLastModified() {
			return of.getLastModified();
		}

		@Override
		public long getContentLengthLong() {
			return content.length;
		}

		@Override
		public InputStream getInputStream() {
			return new ByteArrayInputStream(content);
		}
	}
}
