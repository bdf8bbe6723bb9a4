/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.netpreserve.jwarc.MessageVersion;
import org.netpreserve.jwarc.WarcDigest;
import org.netpreserve.jwarc.WarcReader;
import org.netpreserve.jwarc.WarcRecord;
import org.netpreserve.jwarc.WarcRequest;
import org.netpreserve.jwarc.WarcResponse;
import org.netpreserve.jwarc.Warcinfo;

/** Reads archives with jwarc, an independent implementation, and checks every record. */
final class Warcs {
	private Warcs() {
	}

	/** Returns the URLs that have a response. */
	static Set<String> check(Path dir) throws IOException {
		Set<String> urls = new HashSet<>();
		for (File file : Run.warcs(dir)) {
			assertTrue(file.getName().endsWith(".warc.gz"), "left open: " + file);
			check(file, urls);
		}
		return urls;
	}

	private static void check(File file, Set<String> urls) throws IOException {
		Map<String, String> responses = new HashMap<>();
		Set<String> ids = new HashSet<>();
		int count = 0;
		try (WarcReader reader = new WarcReader(file.toPath())) {
			for (WarcRecord record : reader) {
				assertEquals(new MessageVersion("WARC", 1, 1), record.version());
				assertTrue(ids.add(record.id().toString()), "an id twice");
				assertEquals(count == 0, record instanceof Warcinfo, "the first is the warcinfo");
				count++;
				String target = record.headers().first("WARC-Target-URI").orElse("");
				if (record instanceof WarcResponse) {
					WarcResponse response = (WarcResponse) record;
					response.http().status();
					responses.put(record.id().toString(), target);
					urls.add(target);
				} else if (record instanceof WarcRequest) {
					WarcRequest request = (WarcRequest) record;
					assertEquals("GET", request.http().method());
					String of = request.headers().first("WARC-Concurrent-To").orElse("")
							.replaceAll("[<>]", "");
					assertEquals(target, responses.remove(of), "a request without its response");
				}
			}
		}
		assertTrue(responses.size() <= 1, "responses without a request");  /* a torn pair */
		digests(file);
	}

	private static void digests(File file) throws IOException {
		try (WarcReader reader = new WarcReader(file.toPath())) {
			for (WarcRecord record : reader) {
				WarcDigest said = new WarcDigest(
						record.headers().first("WARC-Block-Digest").orElse(""));
				byte[] block = record.body().stream().readAllBytes();
				assertEquals(said.hex(), new WarcDigest("sha1", sha1(block)).hex());
			}
		}
	}

	private static byte[] sha1(byte[] block) {
		try {
			return MessageDigest.getInstance("SHA-1").digest(block);
		} catch (NoSuchAlgorithmException e) {
			throw new IllegalStateException(e);
		}
	}
}
