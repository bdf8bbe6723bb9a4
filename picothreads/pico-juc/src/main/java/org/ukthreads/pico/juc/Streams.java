// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.Collection;
import java.util.stream.BaseStream;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.ukthreads.pico.Pico;
import org.ukthreads.pico.Pins;

/** Calls that make a stream parallel. @Pico: the program's own streams may suspend. */
@Pico
public final class Streams {
	private Streams() {}

	/** The JDK's will wait for JVM threads; the program's own calls one of the JDK's. */
	private static void leave(Object streams) {
		if (streams.getClass().getClassLoader() == null)
			Pins.away();
	}

	public static BaseStream<?, ?> parallel(BaseStream<?, ?> s) {
		leave(s);
		return s.parallel();
	}

	public static IntStream parallel(IntStream s) {
		leave(s);
		return s.parallel();
	}

	public static LongStream parallel(LongStream s) {
		leave(s);
		return s.parallel();
	}

	public static DoubleStream parallel(DoubleStream s) {
		leave(s);
		return s.parallel();
	}

	public static <E> Stream<E> parallelStream(Collection<E> c) {
		leave(c);
		return c.parallelStream();
	}
}
