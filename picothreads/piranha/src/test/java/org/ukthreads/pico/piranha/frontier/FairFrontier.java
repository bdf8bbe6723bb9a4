/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.frontier;

import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.HashMap;
import java.util.Map;

/**
 * A URLFrontier for two crawlers. Neither is done before the other has begun, however slow that
 * one starts: a crawler that was given more URLs than the other is told that there are none now,
 * until callOff(). No lease ends by the clock. All leases end at once when, after callOff(), a
 * crawler asks whether everything is over, because nothing of its own is under way.
 */
public final class FairFrontier implements ServerInterceptor, Closeable {
	private static final String ASK = "GetURLs";
	private static final String OVER = "GetStats";

	private final Map<SocketAddress, Integer> given = new HashMap<>();  /* guarded by this */
	private boolean off;                                                /* the same */
	private volatile long leasesEnded;  /* nanoTime; 0: they have not. Written under this */
	private final Server server;

	public FairFrontier() throws IOException {
		server = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
				.addService(ServerInterceptors.intercept(new FrontierService(this::millis),
						this)).build().start();
	}

	public int port() {
		return server.getPort();
	}

	/** From now on each crawler gets whatever it asks for. */
	public synchronized void callOff() {
		off = true;
	}

	/** Returns when all leases ended, as System.nanoTime(); 0: they have not. */
	public long leasesEnded() {
		return leasesEnded;
	}

	private long millis() {
		return leasesEnded == 0 ? 0 : Integer.MAX_VALUE * 1000L;
	}

	private synchronized void over() {
		if (off && leasesEnded == 0) {
			leasesEnded = System.nanoTime();
		}
	}

	@Override
	public void close() {
		server.shutdownNow();
	}

	@Override
	public <A, B> ServerCall.Listener<A> interceptCall(ServerCall<A, B> call, Metadata headers,
			ServerCallHandler<A, B> next) {
		if (OVER.equals(call.getMethodDescriptor().getBareMethodName())) {
			over();
		}
		if (!ASK.equals(call.getMethodDescriptor().getBareMethodName())) {
			return next.startCall(call, headers);
		}
		SocketAddress who = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
		if (!turn(who)) {
			call.close(Status.OK, new Metadata());
			return new ServerCall.Listener<A>() {
			};
		}
		return next.startCall(new SimpleForwardingServerCall<A, B>(call) {
			@Override
			public void sendMessage(B url) {
				count(who);
				super.sendMessage(url);
			}
		}, headers);
	}

	private synchronized boolean turn(SocketAddress who) {
		int mine = given.getOrDefault(who, 0);
		int all = given.values().stream().mapToInt(Integer::intValue).sum();
		return off || mine <= all - mine;
	}

	private synchronized void count(SocketAddress who) {
		given.merge(who, 1, Integer::sum);
	}
}
