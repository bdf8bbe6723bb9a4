/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.netpreserve.jwarc.WarcReader;
import org.netpreserve.jwarc.WarcRecord;
import org.netpreserve.jwarc.WarcResponse;
import org.netpreserve.jwarc.WarcTruncationReason;
import org.ukthreads.pico.piranha.web.TestWeb;
import org.ukthreads.pico.piranha.web.WebBuilder;

/** The archive is valid WARC/1.1 and holds what was served. */
@Timeout(60)
final class ArchiveTest {
	@TempDir
	private Path dir;

	@Test
	void the_archive_holds_every_page_as_it_was_served() throws IOException {
		Path archive = dir.resolve("warc");
		try (TestWeb web = new WebBuilder().pages(300).hosts(3).size(500, 50_000).start()) {
			assertEquals(0, Run.here(Run.fast(dir.resolve("log"), "--threads=platform",
					"--warc=" + archive, web.url(0))));
			Set<String> urls = Warcs.check(archive);
			assertEquals(300, urls.size());
			for (int page = 0; page < 300; page++) {
				assertTrue(urls.contains(web.url(page)));
			}
			sizes(web, archive);
		}
	}

	@Test
	void encoded_and_cut_bodies_are_archived_as_they_came() throws IOException {
		Path archive = dir.resolve("warc");
		try (TestWeb web = new WebBuilder().pages(1).hosts(1).traps(true).start()) {
			assertEquals(0, Run.here(Run.fast(dir.resolve("log"), "--threads=platform",
					"--warc=" + archive, "--max-size=100k", "--depth=1",
					"--include=(chunked|gzip|huge|moved|missing)", web.url(0))));
			Warcs.check(archive);
			for (File file : Run.warcs(archive)) {
				try (WarcReader reader = new WarcReader(file.toPath())) {
					for (WarcRecord record : reader) {
						if (record instanceof WarcResponse) {
							look((WarcResponse) record);
						}
					}
				}
			}
		}
	}

	@Test
	void a_torn_archive_is_cut_behind_its_last_whole_record() throws IOException {
		Path archive = dir.resolve("warc");
		Path torn = dir.resolve("torn");
		try (TestWeb web = new WebBuilder().pages(5).hosts(1).start()) {
			assertEquals(0, Run.here(Run.fast(dir.resolve("log"), "--threads=platform",
					"--warc=" + archive, web.url(0))));
			byte[] whole = Files.readAllBytes(Run.warcs(archive).get(0).toPath());
			for (int cut = 0; cut < whole.length; cut += 97) {
				Path each = Files.createDirectories(torn.resolve("" + cut));
				Files.write(each.resolve("left.warc.gz.open"), Arrays.copyOf(whole, cut));
				assertEquals(0, Run.here(Run.fast(dir.resolve("log"), "--threads=platform",
						"--warc=" + each, "--depth=0", web.url(0))));
				assertTrue(Warcs.check(each).contains(web.url(0)));
			}
		}
	}

	@Test
	void a_full_disk_leaves_whole_records() throws Exception {
		Path archive = dir.resolve("warc");
		Path log = dir.resolve("log");
		Path output = dir.resolve("out");
		try (TestWeb web = new WebBuilder().pages(50).hosts(1).fanout(49).size(50_000, 90_000)
				.start()) {
			List<String> command = new ArrayList<>(List.of("bash", "-c",
					"ulimit -f 16; exec \"$@\"", "-"));
			command.addAll(Run.command(Run.fast(log, "--threads=platform", "--warc=" + archive,
					web.url(0)), "-XX:-UsePerfData"));
			Process crawl = new ProcessBuilder(command).redirectErrorStream(true)
					.redirectOutput(output.toFile()).start();
			assertEquals(4, crawl.waitFor(), Files.readString(output));
		}
		assertTrue(Files.readString(output).contains("File too large"),
				Files.readString(output));
		assertTrue(Warcs.check(archive).size() > 0);
	}

	private static void look(WarcResponse response) throws IOException {
		String path = response.targetURI().getPath();
		byte[] body = response.http().body().stream().readAllBytes();
		if (path.equals("/chunked.html")) {
			assertEquals("<html><a href='/from-chunked.html'>x</a>", new String(body));
		} else if (path.equals("/gzip.html")) {
			assertEquals("gzip", response.http().headers().first("Content-Encoding").get());
			assertEquals(0x1f, body[0]);
		} else if (path.equals("/huge.html")) {
			assertEquals(WarcTruncationReason.LENGTH, response.truncated());
			assertTrue(body.length >= 100 << 10);
		} else {
			assertEquals(WarcTruncationReason.NOT_TRUNCATED, response.truncated());
		}
	}

	private static void sizes(TestWeb web, Path archive) throws IOException {
		for (File file : Run.warcs(archive)) {
			try (WarcReader reader = new WarcReader(file.toPath())) {
				for (WarcRecord record : reader) {
					if (record instanceof WarcResponse) {
						WarcResponse response = (WarcResponse) record;
						String path = response.targetURI().getPath();
						int page = Integer.parseInt(path.replaceAll("\\D", ""));
						assertEquals(web.graph().size(page),
								response.http().body().stream().readAllBytes().length);
					}
				}
			}
		}
	}
}
