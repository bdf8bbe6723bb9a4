// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.junit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Marks a test that runs under many seeds, in place of &#64;Test. Each run has its own classes
 * and its own instance, and includes the methods with &#64;BeforeAll, &#64;BeforeEach,
 * &#64;AfterEach and &#64;AfterAll. The test's class needs a constructor without arguments, or
 * is &#64;Nested in such a class. JUnit injects nothing (no &#64;TempDir, no TestInfo). The
 * classes in folders of the class path are translated, and so are the jars that
 * {@link #translate} names.
 *
 * <p>If the test fails, it throws a {@link SimFailure}, which says what to write to repeat that
 * run. {@code -Dpico.sim.seeds=N} sets another number of seeds for all tests,
 * {@code -Dpico.sim.replay=T} replays one run.
 */
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Test
@ExtendWith(PicoSimExtension.class)
public @interface PicoSim {
	/** Number of runs; with {@link #bound}, the maximum. */
	int seeds() default 1_000;

	/** The first seed. */
	long from() default 1;

	/** Depth of PCT, 1 to 4; 0: uniform; -1: both in turn. */
	int pct() default -1;

	/** Runs all schedules with at most this many preemptions; -1: runs seeds. */
	int bound() default -1;

	/** Threads may change places at plain fields as well. */
	boolean fields() default false;

	/** At one decision in this many a timer expires early; 0: never. */
	int hurry() default 0;

	/** Seconds of real time that one step may take before the run fails; 0: no limit. */
	int patience() default 60;

	/** Maximum number of runs to shorten a failing schedule; 0: it is not shortened. */
	int shrink() default 2_000;

	/** The token of a run: makes only that run. */
	String replay() default "";

	/** Sockets and files are the system's and not in memory. */
	boolean realWorld() default false;

	/**
	 * Regular expressions for the file names of jars of the class path that are translated,
	 * too.
	 */
	String[] translate() default {};
}
