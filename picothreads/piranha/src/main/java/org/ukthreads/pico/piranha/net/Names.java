/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.net;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.concurrent.Callable;
import org.ukthreads.pico.Blocking;

/** The system's resolver can only block: a helper thread asks it, and the fiber parks. */
public final class Names implements Callable<InetAddress[]> {
    private final String host;

    private Names(String host) {
        this.host = host;
    }

    /** In the place of InetAddress.getAllByName. */
    public static InetAddress[] getAllByName(String host) throws UnknownHostException {
        if (host.isEmpty() || host.charAt(0) == '[' || numeric(host)) {
            return InetAddress.getAllByName(host);      /* nobody has to be asked */
        }
        try {
            return (InetAddress[]) Blocking.call(new Names(host));
        } catch (UnknownHostException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException("looking up " + host, e);
        }
    }

    @Override
    public InetAddress[] call() throws UnknownHostException {
        return InetAddress.getAllByName(host);
    }

    private static boolean numeric(String host) {
        for (int i = 0; i < host.length(); i++) {
            char c = host.charAt(i);
            if (c != '.' && (c < '0' || c > '9')) {
                return false;
            }
        }
        return true;
    }
}
