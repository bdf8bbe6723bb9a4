/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.net;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.ukthreads.pico.Carrier;
import org.ukthreads.pico.Reactor;

/** A carrier's selector: where it waits when no thread is ready. */
final class Poller implements Reactor {
    private static final class Maker implements Supplier<Reactor> {
        @Override
        public Reactor get() {
            return new Poller();
        }
    }

    private static final Maker MAKER = new Maker();

    private final Selector selector;

    private Poller() {
        try {
            selector = Selector.open();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static Poller current() {
        return (Poller) Carrier.current().reactor(MAKER);
    }

    Waiting register(SocketChannel channel) throws IOException {
        return new Waiting(this, channel.register(selector, 0));
    }

    /** An interest has changed: a select under way on another carrier must hear of it. */
    void changed() {
        if (current() != this) {
            selector.wakeup();
        }
    }

    @Override
    public void poll(long nanos) {
        try {
            int n;
            if (nanos == 0) {
                n = selector.selectNow();
            } else if (nanos == Long.MAX_VALUE) {
                n = selector.select();
            } else {
                n = selector.select(Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos)));
            }
            if (n > 0) {
                for (SelectionKey key : selector.selectedKeys()) {
                    ((Waiting) key.attachment()).ready();
                }
                selector.selectedKeys().clear();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void wakeup() {
        selector.wakeup();
    }
}
