// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The access flags that members of a class had before the translation. It stands on a synthetic
 * method that no program sees, because reading it must not initialise the class, and programs list
 * the annotations of their classes and members.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@interface Was {
	/** Name and descriptor of each of these members. */
	String[] members();

	int[] access();
}
