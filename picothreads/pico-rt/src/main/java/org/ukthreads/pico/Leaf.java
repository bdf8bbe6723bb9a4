// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A method of the runtime that throws the capture itself and pushes no frame: what it
 * returns is what its waker stores in the fiber. Roots of the call graph. Only for
 * static methods of this package; a blocking library is written in plain Java on top of
 * them and translated.
 */
@Retention(RetentionPolicy.CLASS)
@Target(ElementType.METHOD)
@interface Leaf {}
