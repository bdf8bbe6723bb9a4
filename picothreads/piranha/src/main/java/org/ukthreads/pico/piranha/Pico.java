/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

/** Whether this crawler runs as translated code, where a Thread is a pico thread. */
final class Pico {
    private Pico() {
    }

    /** The launcher of translated programs says so. */
    static boolean translated() {
        return Boolean.getBoolean("pico.translated");
    }
}
