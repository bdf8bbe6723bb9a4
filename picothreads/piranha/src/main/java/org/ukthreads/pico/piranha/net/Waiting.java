/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.net;

import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectionKey;
import org.ukthreads.pico.Fiber;

/** A channel's place at its poller: who waits for it. One thread at a time uses a socket. */
final class Waiting {
    private final Poller poller;
    private final SelectionKey key;
    private volatile Fiber fiber;   /* set by who parks; read by the poller, which unparks */

    Waiting(Poller poller, SelectionKey key) {
        this.poller = poller;
        this.key = key;
        key.attach(this);
    }

    /** Spurious returns are allowed, and so is an event before the park: unpark is sticky. */
    void park(int operation, long nanos) {
        fiber = Fiber.current();
        try {
            key.interestOps(operation);
        } catch (CancelledKeyException e) {
            return;     /* closed: the next try of the channel says so */
        }
        poller.changed();
        if (nanos == Long.MAX_VALUE) {
            Fiber.park();
        } else {
            Fiber.parkNanos(nanos);
        }
    }

    /** The channel is ready: it is not looked at again until somebody parks. */
    void ready() {
        try {
            key.interestOps(0);
        } catch (CancelledKeyException e) {
            // Closed: who waits finds out.
        }
        wake();
    }

    void wake() {
        Fiber waiter = fiber;
        if (waiter != null) {
            waiter.unpark();
        }
    }
}
