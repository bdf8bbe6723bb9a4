/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frontier that survives kill -9, for crawls larger than memory.
 *
 * One journal holds everything (see Journal). A record holds new URLs, and the URL that was
 * settled by finding them, if any:
 *
 *   settled URL ("" = seeds) | count | count * (URL, depth, hops)
 *
 * So a page and its links become durable together. After a crash a page is either settled, with
 * its links in the queue, or it is fetched again. If there are too many links for one record, the
 * first records have no settled URL, as those of seeds. The queue of URLs to fetch is the journal
 * itself, read from its start by a cursor. In memory are 16 bytes per known URL, and the URLs of
 * the record at the cursor. After a resume there are also 16 bytes per settled URL, until the
 * cursor has passed all records from before it.
 *
 * Rejected: to keep leases in the journal. When the file is opened again, the process that held
 * them is dead (the lock proves it), so every lease has ended.
 */
package org.ukthreads.pico.piranha.frontier;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;

public final class DiskFrontier implements Frontier {
	private static final String FILE = "frontier.journal";
	private static final int BATCH = 1 << 20;       /* bytes of links in a record */

	private final Journal journal;
	private final Fingerprints known = new Fingerprints();
	private final Fingerprints settled = new Fingerprints();
	private final Levels queue;
	private long unread;        /* links that were not taken yet and are not settled */
	private int leased;
	private boolean stopped;
	private boolean closed;

	private DiskFrontier(Journal journal, boolean byDepth) {
		this.journal = journal;
		this.queue = new Levels(byDepth);
	}

	/** True if the directory holds a crawl to resume. */
	public static boolean exists(File dir) {
		return new File(dir, FILE).length() > 8;
	}

	/**
	 * Puts the damaged part of the directory's journal aside, before it is opened. Returns a
	 * message that says what was lost; "": nothing.
	 */
	public static String salvage(File dir) throws IOException {
		return Journal.salvage(new File(dir, FILE));
	}

	/** byDepth: see Levels. The URLs of deeper levels that were read are then in memory. */
	public static DiskFrontier open(File dir, boolean byDepth) throws IOException {
		if (!dir.isDirectory() && !dir.mkdirs()) {
			throw new IOException("cannot create the directory " + dir);
		}
		DiskFrontier frontier = new DiskFrontier(Journal.open(new File(dir, FILE)),
				byDepth);
		try {
			frontier.replay();
		} catch (IOException e) {
			frontier.close();
			throw e;
		}
		return frontier;
	}

	@Override
	public synchronized int add(List<Link> links) throws IOException {
		return write("", links);
	}

	@Override
	public synchronized Optional<Link> take() throws IOException, InterruptedException {
		while (!stopped) {
			// By depth, URLs that are less deep may still be in the file.
			Optional<Link> link = queue.poll(leased == 0 && journal.atEnd());
			if (link.isPresent()) {
				leased++;
				unread--;
				return link;
			}
			Optional<byte[]> record = journal.next();
			if (record.isPresent()) {
				enqueue(record.get());
			} else if (leased > 0) {
				settled.clear();
				wait();
			} else if (queue.size() == 0) {
				return Optional.empty();
			}
		}
		return Optional.empty();
	}

	@Override
	public synchronized void done(Link link, List<Link> found) throws IOException {
		if (!closed) {
			write(link.url(), found);
		}
		abandon(link);
	}

	@Override
	public synchronized void abandon(Link link) {
		leased--;
		if (leased == 0) {
			notifyAll();
		}
	}

	@Override
	public synchronized void stop() {
		stopped = true;
		notifyAll();
	}

	@Override
	public synchronized long known() {
		return known.size();
	}

	@Override
	public synchronized long open() {
		return unread + leased;
	}

	@Override
	public synchronized void close() throws IOException {
		if (!closed) {
			closed = true;
			stop();
			journal.close();
		}
	}

	private int write(String done, List<Link> links) throws IOException {
		List<Link> fresh = new ArrayList<>(links.size());
		for (Link link : links) {
			if (known.add(link.url())) {
				fresh.add(link);
			}
		}
		if (fresh.isEmpty() && done.isEmpty()) {
			return 0;
		}
		Iterator<Link> rest = fresh.iterator();
		do {
			ByteArrayOutputStream some = new ByteArrayOutputStream(64);
			DataOutputStream out = new DataOutputStream(some);
			int count = 0;
			for (; rest.hasNext() && some.size() < BATCH; count++) {
				Link link = rest.next();
				out.writeUTF(link.url());
				out.writeInt(link.depth());
				out.writeInt(link.hops());
			}
			append(rest.hasNext() ? "" : done, count, some);
		} while (rest.hasNext());
		unread += fresh.size();
		if (!fresh.isEmpty()) {
			notifyAll();
		}
		return fresh.size();
	}

	private void append(String done, int count, ByteArrayOutputStream links)
			throws IOException {
		ByteArrayOutputStream record = new ByteArrayOutputStream(64 + links.size());
		DataOutputStream out = new DataOutputStream(record);
		out.writeUTF(done);
		out.writeInt(count);
		links.writeTo(out);
		journal.append(record.toByteArray());
	}

	/** Learns from the journal which URLs are known and settled, then goes back to its start. */
	private void replay() throws IOException {
		for (Optional<byte[]> record = journal.recover(); record.isPresent();
				record = journal.recover()) {
			String done = doneOf(record.get());
			if (!done.isEmpty()) {
				settled.add(done);
			}
			for (Link link : linksOf(record.get())) {
				known.add(link.url());
			}
		}
		unread = known.size() - settled.size();
		journal.rewind();
	}

	private void enqueue(byte[] record) throws IOException {
		for (Link link : linksOf(record)) {
			if (settled.size() == 0 || !settled.contains(link.url())) {
				queue.add(link);
			}
		}
	}

	private static String doneOf(byte[] record) throws IOException {
		return new DataInputStream(new ByteArrayInputStream(record)).readUTF();
	}

	private static List<Link> linksOf(byte[] record) throws IOException {
		DataInputStream in = new DataInputStream(new ByteArrayInputStream(record));
		in.readUTF();
		int count = in.readInt();
		if (count == 0) {
			return Collections.emptyList();
		}
		List<Link> links = new ArrayList<>(count);
		for (int i = 0; i < count; i++) {
			links.add(Link.of(in.readUTF(), in.readInt(), in.readInt()));
		}
		return links;
	}
}
