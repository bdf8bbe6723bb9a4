// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * May suspend. The translator sets it on what it translated; a program may set it too. On
 * a class: all its methods, and every method of the JDK's that they call and a program
 * may override.
 */
@Retention(RetentionPolicy.CLASS)
@Target({ElementType.METHOD, ElementType.CONSTRUCTOR, ElementType.TYPE})
public @interface Pico {}
