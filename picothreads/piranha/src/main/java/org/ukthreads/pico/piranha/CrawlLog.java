/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import java.io.BufferedWriter;
import java.io.Closeable;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;

import org.ukthreads.pico.piranha.frontier.Link;

/**
 * Writes a line per URL, separated by tabs: time, outcome, status, bytes, depth, milliseconds,
 * URL, note.
 */
final class CrawlLog implements Closeable {
	private final Writer out;

	private CrawlLog(Writer out) {
		this.out = out;
	}

	static CrawlLog none() {
		return new CrawlLog(new Writer() {
			@Override
			public void write(char[] text, int from, int length) {
				// No log was asked for.
			}

			@Override
			public void flush() {
				// As above.
			}

			@Override
			public void close() {
				// As above.
			}
		});
	}

	/** Opens a log to append to, so that a resumed crawl has one log. */
	static CrawlLog open(File file) throws IOException {
		return new CrawlLog(new BufferedWriter(new OutputStreamWriter(
				new FileOutputStream(file, true), StandardCharsets.UTF_8)));
	}

	void write(Link link, Visit.Result result, long millis) throws IOException {
		String line = Instant.now() + "\t" + result.outcome.label() + "\t" + result.status + "\t"
				+ result.bytes + "\t" + link.depth() + "\t" + millis + "\t" + link.url() + "\t"
				+ result.note + "\n";
		synchronized (this) {
			out.write(line);
			out.flush();
		}
	}

	@Override
	public synchronized void close() throws IOException {
		out.close();
	}
}
