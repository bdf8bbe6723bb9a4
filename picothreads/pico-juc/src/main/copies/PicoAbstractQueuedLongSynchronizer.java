// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

// = PicoAbstractQueuedSynchronizer; (int) n > n; int n > long n
