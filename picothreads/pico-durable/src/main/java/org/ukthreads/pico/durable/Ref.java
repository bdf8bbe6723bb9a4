// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.Serializable;

/** Takes the place, in a Java stream, of an object that the snapshot holds by number. */
final class Ref implements Serializable {
	private static final long serialVersionUID = 1;
	final int number;

	Ref(int number) {
		this.number = number;
	}
}
