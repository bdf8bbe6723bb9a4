// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.bench.flow;

import co.paralleluniverse.fibers.instrument.QuasarInstrumentor;
import java.io.IOException;
import java.io.InputStream;
import org.apache.commons.javaflow.providers.core.ContinuableClassTransformationFactory;
import org.apache.commons.javaflow.spi.ClasspathResourceLoader;
import org.apache.commons.javaflow.spi.ResourceTransformer;

/** Loads Flow, instrumented by Javaflow, and Strand, instrumented by Quasar. */
public final class FlowLoader extends ClassLoader {
	public FlowLoader() {
		super(FlowLoader.class.getClassLoader());
	}

	@Override
	protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
		if (!name.equals(Flow.class.getName()) && !name.equals(Strand.class.getName()))
			return super.loadClass(name, resolve);
		Class<?> c = findLoadedClass(name);
		return c != null ? c : define(name);
	}

	private Class<?> define(String name) throws ClassNotFoundException {
		String path = name.replace('.', '/');
		try (InputStream in = getResourceAsStream(path + ".class")) {
			byte[] b = in.readAllBytes();
			b = name.equals(Strand.class.getName()) ? suspendable(path, b) : continuable(path, b);
			return defineClass(name, b, 0, b.length);
		} catch (IOException e) {
			throw new ClassNotFoundException(name, e);
		}
	}

	/** Quasar 0.8.0 reads class files of Java 11 at most, so ours says that it is one. */
	private byte[] suspendable(String path, byte[] b) throws IOException {
		b[7] = 55;
		return new QuasarInstrumentor().instrumentClass(getParent(), path, b);
	}

	private byte[] continuable(String path, byte[] b) {
		ResourceTransformer t = new ContinuableClassTransformationFactory()
			.createTransformer(new ClasspathResourceLoader(getParent()));
		try {
			return t.transform(b, path);
		} finally {
			t.release();
		}
	}
}
