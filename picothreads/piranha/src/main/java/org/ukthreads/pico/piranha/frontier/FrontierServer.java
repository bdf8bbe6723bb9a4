/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.frontier;

import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetSocketAddress;

/** A URLFrontier server in this process. */
public final class FrontierServer implements Closeable {
    private final Server server;

    private FrontierServer(Server server) {
        this.server = server;
    }

    /** Port 0: any that is free. */
    public static FrontierServer start(String host, int port) throws IOException {
        return new FrontierServer(NettyServerBuilder.forAddress(new InetSocketAddress(host, port))
                .addService(new FrontierService()).build().start());
    }

    public int port() {
        return server.getPort();
    }

    public void await() throws InterruptedException {
        server.awaitTermination();
    }

    @Override
    public void close() {
        server.shutdownNow();
    }
}
