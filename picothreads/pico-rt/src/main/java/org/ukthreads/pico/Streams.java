package org.ukthreads.pico;

import java.util.Collection;
import java.util.stream.BaseStream;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** Calls that make a stream parallel. */
public final class Streams {
	private Streams() {}

	public static BaseStream<?, ?> parallel(BaseStream<?, ?> s) {
		Pins.away();
		return s.parallel();
	}

	public static IntStream parallel(IntStream s) {
		Pins.away();
		return s.parallel();
	}

	public static LongStream parallel(LongStream s) {
		Pins.away();
		return s.parallel();
	}

	public static DoubleStream parallel(DoubleStream s) {
		Pins.away();
		return s.parallel();
	}

	public static <E> Stream<E> parallelStream(Collection<E> c) {
		Pins.away();
		return c.parallelStream();
	}
}
