// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/**
 * What a thread waits for that waits for input or output. The JVM calls such a thread RUNNABLE,
 * since it is in a call of the kernel.
 */
@Internal
public interface Device {}
