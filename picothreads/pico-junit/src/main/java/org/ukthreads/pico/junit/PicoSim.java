// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.junit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A test that is run under many seeds, each with classes and an instance of its own, its
 * &#64;BeforeAll, &#64;BeforeEach, &#64;AfterEach and &#64;AfterAll methods included: in the place
 * of &#64;Test. The test's class needs a constructor without arguments, or is &#64;Nested in such a
 * one; JUnit injects nothing (a &#64;TempDir, a TestInfo). What is in folders of the class path is translated, and
 * so are the jars that {@link #translate} names.
 *
 * <p>It fails with a {@link SimFailure}, which says what to write to have that run again.
 * {@code -Dpico.sim.seeds=N} is another number of seeds for all tests, {@code -Dpico.sim.replay=T}
 * replays one.
 */
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Test
@ExtendWith(PicoSimExtension.class)
public @interface PicoSim {
	/** Runs; with {@link #bound}, at most. */
	int seeds() default 1_000;

	/** The first seed. */
	long from() default 1;

	/** Depth of PCT, 1 to 4; 0: uniform; -1: both in turn. */
	int pct() default -1;

	/** All schedules with at most so many preemptions; -1: seeds. */
	int bound() default -1;

	/** Threads may change places at plain fields, too. */
	boolean fields() default false;

	/** One decision in so many lets a timer expire early; 0: none. */
	int hurry() default 0;

	/** Seconds that one step may take, in real time, before the run has failed; 0: any. */
	int patience() default 60;

	/** Runs to shorten a schedule that fails. */
	int shrink() default 2_000;

	/** A token: that run alone. */
	String replay() default "";

	/** Sockets and files are the system's. */
	boolean realWorld() default false;

	/** Regular expressions: jars of the class path, by file name, that are translated, too. */
	String[] translate() default {};
}
