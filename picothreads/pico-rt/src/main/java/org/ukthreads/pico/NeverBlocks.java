// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Not translated, whatever the call graph says. When it does suspend, the lost-frame
 * check throws PinnedException at the caller.
 */
@Retention(RetentionPolicy.CLASS)
@Target({ElementType.METHOD, ElementType.CONSTRUCTOR, ElementType.TYPE})
public @interface NeverBlocks {}
