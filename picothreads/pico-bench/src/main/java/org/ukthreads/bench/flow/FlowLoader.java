// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.bench.flow;

import java.io.IOException;
import java.io.InputStream;
import org.apache.commons.javaflow.providers.core.ContinuableClassTransformationFactory;
import org.apache.commons.javaflow.spi.ClasspathResourceLoader;
import org.apache.commons.javaflow.spi.ResourceTransformer;

/** Loads Flow, instrumented by Javaflow. */
public final class FlowLoader extends ClassLoader {
	public FlowLoader() {
		super(FlowLoader.class.getClassLoader());
	}

	@Override
	protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
		if (!name.equals(Flow.class.getName()))
			return super.loadClass(name, resolve);
		Class<?> c = findLoadedClass(name);
		return c != null ? c : define(name);
	}

	private Class<?> define(String name) throws ClassNotFoundException {
		try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
			ResourceTransformer t = new ContinuableClassTransformationFactory()
				.createTransformer(new ClasspathResourceLoader(getParent()));
			byte[] b = t.transform(in.readAllBytes(), name.replace('.', '/'));
			t.release();
			return defineClass(name, b, 0, b.length);
		} catch (IOException e) {
			throw new ClassNotFoundException(name, e);
		}
	}
}
