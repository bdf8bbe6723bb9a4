// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Keeps a method, or all methods of a class, from being translated, whatever the call graph
 * says. A call in it that may suspend pins. If the analysis misses such a call, the lost-frame
 * check throws a PinnedException at the caller of the method.
 */
@Retention(RetentionPolicy.CLASS)
@Target({ElementType.METHOD, ElementType.CONSTRUCTOR, ElementType.TYPE})
public @interface NeverBlocks {}
