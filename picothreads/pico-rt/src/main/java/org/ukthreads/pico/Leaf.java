// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a primitive: a method of the runtime that throws the capture itself and pushes no
 * frame. Its result is what the waker stores in the fiber. Primitives are roots of the call
 * graph. Only static methods of this package can be primitives; a blocking library is plain
 * Java on top of them and is translated.
 */
@Retention(RetentionPolicy.CLASS)
@Target(ElementType.METHOD)
@interface Leaf {}
