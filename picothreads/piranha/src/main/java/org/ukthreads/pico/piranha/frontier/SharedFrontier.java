/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frontier of many machines: a client of a URLFrontier server.
 *
 * The server knows every URL, hands each out under a lease, and hands it to another crawler if
 * the lease ends without a result. So a crawler that dies loses nothing: others get its URLs. A
 * crawler must not work past a lease: take() drops a URL whose lease has ended while it waited
 * here, and a visit checks again before it fetches (Link.leaseCovers).
 *
 * One thread sends the results, in order. The server acknowledges the links of a page before the
 * page is settled, so a crash in between repeats the page and loses none. The URLs' threads
 * append to the list of results, and wait if it is long, because a crash repeats what is on it.
 *
 * A link that this process has sent to the server is not sent again (16 bytes each), because most
 * links of a page are known.
 *
 * Rejected: to settle in the URL's own thread. gRPC waits in its own callbacks, where a cheap
 * thread cannot park.
 */
package org.ukthreads.pico.piranha.frontier;

import crawlercommons.urlfrontier.URLFrontierGrpc;
import crawlercommons.urlfrontier.Urlfrontier.AckMessage;
import crawlercommons.urlfrontier.Urlfrontier.DiscoveredURLItem;
import crawlercommons.urlfrontier.Urlfrontier.GetParams;
import crawlercommons.urlfrontier.Urlfrontier.KnownURLItem;
import crawlercommons.urlfrontier.Urlfrontier.QueueWithinCrawlParams;
import crawlercommons.urlfrontier.Urlfrontier.Stats;
import crawlercommons.urlfrontier.Urlfrontier.StringList;
import crawlercommons.urlfrontier.Urlfrontier.URLInfo;
import crawlercommons.urlfrontier.Urlfrontier.URLItem;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.net.MalformedURLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

import org.ukthreads.pico.piranha.http.Target;

public final class SharedFrontier implements Frontier {
	private static final int PER_QUEUE = 50;
	private static final long POLL_MILLIS = 100;
	private static final long PATIENCE_MILLIS = 30_000;     /* with a server that does not answer */
	private static final String DEPTH = "depth";
	private static final String HOPS = "hops";

	private final ManagedChannel channel;
	private final URLFrontierGrpc.URLFrontierBlockingStub stub;
	private final String crawlId;
	private final long leaseMillis;
	private final ArrayDeque<Link> batch = new ArrayDeque<>();      /* take()'s thread only */
	private long lastAnswer = System.nanoTime();                    /* the same */
	private final Uploader uploader;
	private final Fingerprints told = new Fingerprints();   /* guarded by itself */
	private int leased;             /* guarded by this */
	private long settledHere;       /* guarded by this */
	private long openThere;         /* at the last look; guarded by this */
	private boolean stopped;        /* guarded by this */
	private boolean closed;         /* guarded by this */

	private SharedFrontier(ManagedChannel channel, String crawlId, long leaseMillis) {
		this.channel = channel;
		this.stub = URLFrontierGrpc.newBlockingStub(channel);
		this.crawlId = crawlId;
		this.leaseMillis = leaseMillis / 1000 * 1000;     /* the interface counts in seconds */
		this.uploader = new Uploader(URLFrontierGrpc.newStub(channel));
	}

	public static SharedFrontier connect(String host, int port, String crawlId, long leaseMillis)
			throws IOException {
		if (leaseMillis < 1000) {
			throw new IOException("a lease must last a second or more");
		}
		ManagedChannel channel = NettyChannelBuilder.forAddress(host, port).usePlaintext().build();
		SharedFrontier frontier = new SharedFrontier(channel, crawlId, leaseMillis);
		try {
			frontier.stats();
		} catch (StatusRuntimeException e) {
			channel.shutdownNow();
			throw new IOException("no URLFrontier answers at " + host + ":" + port + " ("
					+ e.getStatus().getCode() + ")");
		}
		frontier.uploader.start();
		return frontier;
	}

	@Override
	public int add(List<Link> links) throws IOException {
		List<URLItem> items = new ArrayList<>(links.size());
		for (Link link : links) {
			items.add(discovered(link));
		}
		return uploader.putNow(items);
	}

	@Override
	public Optional<Link> take() throws IOException, InterruptedException {
		while (true) {
			Link next = batch.poll();
			if (next != null && next.leaseCovers(0)) {
				synchronized (this) {
					if (stopped) {
						return Optional.empty();
					}
					leased++;
				}
				return Optional.of(next);
			}
			if (next == null && !more() && (over() || pause())) {
				return Optional.empty();
			}
		}
	}

	@Override
	public void done(Link link, List<Link> found) throws IOException {
		uploader.check();
		List<URLItem> items = new ArrayList<>(found.size());
		synchronized (told) {
			for (Link child : found) {
				if (told.add(child.url())) {
					items.add(discovered(child));
				}
			}
		}
		try {
			uploader.later(items, known(link));
		} catch (InterruptedException e) {
			throw new IOException("interrupted before the URLFrontier got the result");
		}
		synchronized (this) {
			settledHere++;
		}
		abandon(link);
	}

	@Override
	public synchronized void abandon(Link link) {
		leased--;
		notifyAll();
	}

	@Override
	public synchronized void stop() {
		stopped = true;
		notifyAll();
	}

	@Override
	public synchronized long known() {
		return settledHere + openThere;
	}

	/** At the last look at the server. */
	@Override
	public synchronized long open() {
		return openThere;
	}

	@Override
	public void close() throws IOException {
		synchronized (this) {
			if (closed) {
				return;
			}
			closed = true;
		}
		stop();
		try {
			uploader.close(PATIENCE_MILLIS);
			Stats last = stats();
			synchronized (this) {
				openThere = last.getSize();
			}
		} catch (StatusRuntimeException e) {
			throw new IOException("the URLFrontier failed: " + e.getStatus().getCode());
		} finally {
			channel.shutdownNow();
		}
	}

	/**
	 * Leases a batch. Returns false if there was none, or if the server has not answered for less
	 * than PATIENCE_MILLIS.
	 */
	private boolean more() throws IOException {
		GetParams ask = GetParams.newBuilder().setCrawlID(crawlId).setMaxUrlsPerQueue(PER_QUEUE)
				.setDelayRequestable((int) (leaseMillis / 1000)).build();
		// The lease begins when the server answers, which is not before now.
		long ends = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(leaseMillis);
		try {
			Iterator<URLInfo> urls = stub.withDeadlineAfter(PATIENCE_MILLIS,
					TimeUnit.MILLISECONDS).getURLs(ask);
			while (urls.hasNext()) {
				URLInfo info = urls.next();
				batch.add(Link.of(info.getUrl(), number(info, DEPTH), number(info, HOPS))
						.leasedUntil(ends));
			}
			lastAnswer = System.nanoTime();
		} catch (StatusRuntimeException e) {
			missed(e);
		}
		return !batch.isEmpty();
	}

	private void missed(StatusRuntimeException e) throws IOException {
		if (System.nanoTime() - lastAnswer > TimeUnit.MILLISECONDS.toNanos(PATIENCE_MILLIS)) {
			throw new IOException("the URLFrontier does not answer: " + e.getStatus().getCode());
		}
	}

	private boolean over() throws IOException {
		synchronized (this) {
			if (stopped) {
				return true;
			}
			if (leased > 0 || !uploader.idle()) {
				return false;
			}
		}
		try {
			long open = stats().getSize();
			synchronized (this) {
				openThere = open;
			}
			return open == 0;
		} catch (StatusRuntimeException e) {
			missed(e);
			return false;
		}
	}

	/**
	 * Waits until results have reached the server, or for a while. Returns true if the crawl was
	 * stopped.
	 */
	private boolean pause() throws InterruptedException {
		uploader.awaitProgress(POLL_MILLIS);
		synchronized (this) {
			return stopped;
		}
	}

	private Stats stats() {
		return stub.withDeadlineAfter(PATIENCE_MILLIS, TimeUnit.MILLISECONDS).getStats(
				QueueWithinCrawlParams.newBuilder().setCrawlID(crawlId).build());
	}

	private URLItem discovered(Link link) {
		return URLItem.newBuilder().setID(link.url()).setDiscovered(
				DiscoveredURLItem.newBuilder().setInfo(info(link))).build();
	}

	private URLItem known(Link link) {
		return URLItem.newBuilder().setID(link.url()).setKnown(
				KnownURLItem.newBuilder().setInfo(info(link)).setRefetchableFromDate(0)).build();
	}

	private URLInfo info(Link link) {
		return URLInfo.newBuilder().setUrl(link.url()).setKey(key(link.url()))
				.setCrawlID(crawlId).putMetadata(DEPTH, value(link.depth()))
				.putMetadata(HOPS, value(link.hops())).build();
	}

	private static String key(String url) {
		try {
			return Target.of(url).authority();
		} catch (MalformedURLException e) {
			throw new IllegalStateException("a link that is not a URL: " + url, e);
		}
	}

	private static StringList value(int number) {
		return StringList.newBuilder().addValues(Integer.toString(number)).build();
	}

	private static int number(URLInfo info, String name) {
		StringList list = info.getMetadataOrDefault(name, StringList.getDefaultInstance());
		return list.getValuesCount() == 0 ? 0 : Integer.parseInt(list.getValues(0));
	}

	static boolean accepted(AckMessage ack) {
		return ack.getStatus() == AckMessage.Status.OK;
	}
}
