/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The URLFrontier interface of crawler-commons (gRPC). It keeps crawls, which consist of queues
 * of URLs, in memory, with a journal if they are to survive the process.
 *
 * Any client of that interface can use it, and our client can use any server of it. One lock
 * guards all state. It is held for map operations and for the journal's write. Answers are sent
 * outside of it, so whatever a client was told is in the journal. getURLs goes round the queues,
 * so that no host starves another.
 *
 * The journal holds, in order, what was put, deleted and leased. Leases are kept because their
 * holders are other processes, which a restart of this one does not end. Delays and blocks of
 * queues are not kept.
 */
package org.ukthreads.pico.piranha.frontier;

import crawlercommons.urlfrontier.URLFrontierGrpc.URLFrontierImplBase;
import crawlercommons.urlfrontier.Urlfrontier.AckMessage;
import crawlercommons.urlfrontier.Urlfrontier.Active;
import crawlercommons.urlfrontier.Urlfrontier.BlockQueueParams;
import crawlercommons.urlfrontier.Urlfrontier.Boolean;
import crawlercommons.urlfrontier.Urlfrontier.DeleteCrawlMessage;
import crawlercommons.urlfrontier.Urlfrontier.Empty;
import crawlercommons.urlfrontier.Urlfrontier.GetParams;
import crawlercommons.urlfrontier.Urlfrontier.Local;
import crawlercommons.urlfrontier.Urlfrontier.Long;
import crawlercommons.urlfrontier.Urlfrontier.QueueDelayParams;
import crawlercommons.urlfrontier.Urlfrontier.QueueWithinCrawlParams;
import crawlercommons.urlfrontier.Urlfrontier.Stats;
import crawlercommons.urlfrontier.Urlfrontier.StringList;
import crawlercommons.urlfrontier.Urlfrontier.URLInfo;
import crawlercommons.urlfrontier.Urlfrontier.URLItem;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

final class FrontierService extends URLFrontierImplBase {
	private static final String DEFAULT_CRAWL = "DEFAULT";
	private static final int DEFAULT_LEASE_SECONDS = 30;
	private static final int PUT = 'P';
	private static final int LEASE = 'L';
	private static final int DELETE = 'D';

	private final Map<String, LinkedHashMap<String, HostQueue>> crawls = new LinkedHashMap<>();
	private boolean active = true;      /* guarded by this, as is crawls */
	private final Optional<Journal> journal;
	private final LongSupplier clock;   /* milliseconds, as System.currentTimeMillis() */

	FrontierService() {
		this(System::currentTimeMillis);
	}

	FrontierService(LongSupplier clock) {
		this.clock = clock;
		journal = Optional.empty();
	}

	/** Restores the state that the journal holds. */
	FrontierService(Journal journal) throws IOException {
		clock = System::currentTimeMillis;
		this.journal = Optional.of(journal);
		for (Optional<byte[]> record = journal.recover(); record.isPresent();
				record = journal.recover()) {
			replay(new DataInputStream(new ByteArrayInputStream(record.get())));
		}
	}

	@Override
	public void getURLs(GetParams ask, StreamObserver<URLInfo> answer) {
		try {
			for (URLInfo info : lease(ask, clock.getAsLong())) {
				answer.onNext(info);
			}
			answer.onCompleted();
		} catch (IOException e) {
			answer.onError(Status.INTERNAL.withDescription(e.getMessage()).asException());
		}
	}

	@Override
	public StreamObserver<URLItem> putURLs(StreamObserver<AckMessage> answer) {
		return new StreamObserver<URLItem>() {
			@Override
			public void onNext(URLItem item) {
				answer.onNext(AckMessage.newBuilder().setID(item.getID()).setStatus(keep(item))
						.build());
			}

			@Override
			public void onError(Throwable failure) {
				// The client has gone. What it has put stays.
			}

			@Override
			public void onCompleted() {
				answer.onCompleted();
			}
		};
	}

	@Override
	public void getStats(QueueWithinCrawlParams ask, StreamObserver<Stats> answer) {
		answer.onNext(stats(crawl(ask.getCrawlID()), ask.getKey()));
		answer.onCompleted();
	}

	@Override
	public void listCrawls(Local ask, StreamObserver<StringList> answer) {
		StringList.Builder names = StringList.newBuilder();
		synchronized (this) {
			names.addAllValues(crawls.keySet());
		}
		answer.onNext(names.build());
		answer.onCompleted();
	}

	@Override
	public void deleteCrawl(DeleteCrawlMessage ask, StreamObserver<Long> answer) {
		long count = 0;
		synchronized (this) {
			Map<String, HostQueue> queues = crawls.remove(crawl(ask.getValue()));
			if (queues != null) {
				deleted(crawl(ask.getValue()));
				for (HostQueue queue : queues.values()) {
					count += queue.known();
				}
			}
		}
		answer.onNext(Long.newBuilder().setValue(count).build());
		answer.onCompleted();
	}

	@Override
	public void setDelay(QueueDelayParams ask, StreamObserver<Empty> answer) {
		synchronized (this) {
			for (HostQueue queue : select(crawl(ask.getCrawlID()), ask.getKey())) {
				queue.delay(ask.getDelayRequestable() * 1000L);
			}
		}
		answer.onNext(Empty.getDefaultInstance());
		answer.onCompleted();
	}

	@Override
	public void blockQueueUntil(BlockQueueParams ask, StreamObserver<Empty> answer) {
		synchronized (this) {
			for (HostQueue queue : select(crawl(ask.getCrawlID()), ask.getKey())) {
				queue.block(ask.getTime() * 1000);
			}
		}
		answer.onNext(Empty.getDefaultInstance());
		answer.onCompleted();
	}

	@Override
	public void setActive(Active ask, StreamObserver<Empty> answer) {
		synchronized (this) {
			active = ask.getState();
		}
		answer.onNext(Empty.getDefaultInstance());
		answer.onCompleted();
	}

	@Override
	public void getActive(Local ask, StreamObserver<Boolean> answer) {
		boolean now;
		synchronized (this) {
			now = active;
		}
		answer.onNext(Boolean.newBuilder().setState(now).build());
		answer.onCompleted();
	}

	private synchronized List<URLInfo> lease(GetParams ask, long now) throws IOException {
		List<URLInfo> leased = new ArrayList<>();
		if (!active) {
			return leased;
		}
		int perQueue = ask.getMaxUrlsPerQueue() > 0 ? ask.getMaxUrlsPerQueue()
				: Integer.MAX_VALUE;
		int queuesLeft = ask.getMaxQueues() > 0 ? ask.getMaxQueues() : Integer.MAX_VALUE;
		long millis = 1000L * (ask.getDelayRequestable() > 0 ? ask.getDelayRequestable()
				: DEFAULT_LEASE_SECONDS);
		List<String> names = ask.hasAnyCrawlID() ? new ArrayList<>(crawls.keySet())
				: java.util.Collections.singletonList(crawl(ask.getCrawlID()));
		for (String name : names) {
			LinkedHashMap<String, HostQueue> queues = crawls.get(name);
			if (queues == null) {
				continue;
			}
			for (String key : new ArrayList<>(queues.keySet())) {
				HostQueue queue = queues.get(key);
				if ((!ask.getKey().isEmpty() && !ask.getKey().equals(key))
						|| queuesLeft == 0 || !queue.hasDue(now)) {
					continue;
				}
				List<URLInfo> some = queue.lease(perQueue, now, millis);
				leased(name, key, now + millis, some);
				leased.addAll(some);
				queuesLeft--;
				queues.remove(key);     /* to the end, because its turn is over */
				queues.put(key, queue);
			}
		}
		return leased;
	}

	private synchronized AckMessage.Status keep(URLItem item) {
		AckMessage.Status status = put(item);
		if (status == AckMessage.Status.OK && journal.isPresent()) {
			byte[] bytes = item.toByteArray();
			ByteArrayOutputStream record = new ByteArrayOutputStream(1 + bytes.length);
			record.write(PUT);
			record.write(bytes, 0, bytes.length);
			try {
				journal.get().append(record.toByteArray());
			} catch (IOException e) {
				return AckMessage.Status.FAIL;
			}
		}
		return status;
	}

	private void leased(String crawl, String key, long until, List<URLInfo> urls)
			throws IOException {
		if (journal.isPresent()) {
			ByteArrayOutputStream record = new ByteArrayOutputStream();
			DataOutputStream out = new DataOutputStream(record);
			out.write(LEASE);
			out.writeUTF(crawl);
			out.writeUTF(key);
			out.writeLong(until);
			out.writeInt(urls.size());
			for (URLInfo url : urls) {
				out.writeUTF(url.getUrl());
			}
			journal.get().append(record.toByteArray());
		}
	}

	private void deleted(String crawl) {
		if (journal.isPresent()) {
			try {
				ByteArrayOutputStream record = new ByteArrayOutputStream();
				DataOutputStream out = new DataOutputStream(record);
				out.write(DELETE);
				out.writeUTF(crawl);
				journal.get().append(record.toByteArray());
			} catch (IOException e) {
				throw new IllegalStateException("cannot write the frontier's journal", e);
			}
		}
	}

	private void replay(DataInputStream record) throws IOException {
		int type = record.read();
		if (type == PUT) {
			put(URLItem.parseFrom(record));
		} else if (type == DELETE) {
			crawls.remove(record.readUTF());
		} else if (type == LEASE) {
			HostQueue queue = crawls.get(record.readUTF()).get(record.readUTF());
			long until = record.readLong();
			for (int left = record.readInt(); left > 0; left--) {
				queue.leased(record.readUTF(), until);
			}
		} else {
			throw new IOException("this is not the journal of a URLFrontier");
		}
	}

	private AckMessage.Status put(URLItem item) {
		boolean found = item.hasDiscovered();
		URLInfo info = found ? item.getDiscovered().getInfo() : item.getKnown().getInfo();
		String key = info.getKey();
		if (key.isEmpty()) {
			try {
				key = new URL(info.getUrl()).getHost();
			} catch (MalformedURLException e) {
				return AckMessage.Status.SKIPPED;
			}
		}
		String name = crawl(info.getCrawlID());
		URLInfo full = info.toBuilder().setKey(key).setCrawlID(name).build();
		synchronized (this) {
			LinkedHashMap<String, HostQueue> queues = crawls.get(name);
			if (queues == null) {
				queues = new LinkedHashMap<>();
				crawls.put(name, queues);
			}
			HostQueue queue = queues.get(key);
			if (queue == null) {
				queue = new HostQueue();
				queues.put(key, queue);
			}
			if (found) {
				return queue.discover(full) ? AckMessage.Status.OK : AckMessage.Status.SKIPPED;
			}
			queue.result(full, item.getKnown().getRefetchableFromDate() * 1000);
			return AckMessage.Status.OK;
		}
	}

	private synchronized Stats stats(String name, String key) {
		long open = 0;
		long held = 0;
		long settled = 0;
		List<HostQueue> queues = select(name, key);
		for (HostQueue queue : queues) {
			open += queue.open();
			held += queue.held();
			settled += queue.settled();
		}
		return Stats.newBuilder().setCrawlID(name).setSize(open).setInProcess((int) held)
				.setNumberOfQueues(queues.size()).putCounts("completed", settled).build();
	}

	private List<HostQueue> select(String name, String key) {
		List<HostQueue> selected = new ArrayList<>();
		Map<String, HostQueue> queues = crawls.get(name);
		if (queues != null) {
			for (Map.Entry<String, HostQueue> entry : queues.entrySet()) {
				if (key.isEmpty() || key.equals(entry.getKey())) {
					selected.add(entry.getValue());
				}
			}
		}
		return selected;
	}

	private static String crawl(String id) {
		return id.isEmpty() ? DEFAULT_CRAWL : id;
	}
}
