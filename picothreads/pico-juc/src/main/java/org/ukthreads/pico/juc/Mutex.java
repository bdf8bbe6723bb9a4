// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

/**
 * A collection that locks itself with a monitor of ours. Locks are told apart by static type,
 * and no Gate has this type. Its methods call functions in translated code (see Carriers).
 */
interface Mutex {}
