// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

/**
 * What locks itself with a monitor of ours: by this type no lock of a Gate can be meant. What
 * takes functions here calls them in translated code (see Carriers).
 */
interface Mutex {}
