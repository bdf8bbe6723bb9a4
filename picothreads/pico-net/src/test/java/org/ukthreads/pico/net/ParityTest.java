// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.Again;
import org.ukthreads.fixtures.ChannelCalls;
import org.ukthreads.fixtures.Crowd;
import org.ukthreads.fixtures.Datagrams;
import org.ukthreads.fixtures.Deaf;
import org.ukthreads.fixtures.Deserialised;
import org.ukthreads.fixtures.Fire;
import org.ukthreads.fixtures.Headers;
import org.ukthreads.fixtures.OwnParts;
import org.ukthreads.fixtures.Selecting;
import org.ukthreads.fixtures.Sockets;
import org.ukthreads.fixtures.Streams;
import org.ukthreads.fixtures.UnixSockets;
import org.ukthreads.pico.Pins;

/** A program prints the same on the JDK's network and, translated, on ours. */
final class ParityTest {
	@TempDir
	Path dir;

	static String sorted(String s) {
		return Arrays.stream(s.split("\n")).sorted().collect(Collectors.joining("\n"));
	}

	private void same(Class<?> c, String... args) throws Exception {
		List<Path> p = Harness.program(dir, c);
		String want = Harness.plain(p, c, args);
		assertTrue(want.length() > 20, want);
		assertEquals(want, Harness.pico(p, c, args));
		System.err.println(c.getSimpleName() + ": " + want.split("\n").length
			+ " equal lines, pins that blocked: " + Harness.pinned);
	}

	@Test
	void sockets_behave_as_the_jdks() throws Exception {
		same(Sockets.class);
	}

	@Test
	void datagrams_behave_as_the_jdks() throws Exception {
		same(Datagrams.class);
	}

	/** The OS thread has the interrupt flag by then, and the fiber has lost its carrier. */
	@Test
	@Tag("long")
	void who_was_interrupted_in_a_long_call_keeps_its_sockets() throws Exception {
		same(Deaf.class);
	}

	@Test
	void channels_behave_as_the_jdks() throws Exception {
		same(ChannelCalls.class);
	}

	@Test
	void unix_domain_sockets_behave_as_the_jdks() throws Exception {
		same(UnixSockets.class);
		assertEquals(0, Harness.pinned, Pins.report().toString());
	}

	@Test
	void the_programs_own_channels_sums_and_lists_may_wait() throws Exception {
		same(OwnParts.class);
		assertEquals(0, Harness.pinned, Pins.report().toString());
	}

	@Test
	@Tag("long")
	@Tag("2/2")
	void streams_over_slow_sockets_behave_as_the_jdks_and_do_not_pin() throws Exception {
		same(Streams.class, "12", "whole");
		assertEquals(0, Harness.pinned, Pins.report().toString());
	}

	@Test
	void headers_go_out_when_a_stream_is_made() throws Exception {
		same(Headers.class);
		assertEquals(0, Harness.pinned, Pins.report().toString());
	}

	@Test
	void streams_that_break_off_behave_as_the_jdks() throws Exception {
		same(Streams.class, "12", "broken");
	}

	@Test
	void streams_that_go_on_behind_their_end_behave_as_the_jdks() throws Exception {
		same(Again.class);
	}

	@Test
	void what_was_serialised_untranslated_locks_as_ours() throws Exception {
		Path file = dir.resolve("objects");
		try (OutputStream to = Files.newOutputStream(file)) {
			Deserialised.write(to);
		}
		same(Deserialised.class, file.toString());
		assertEquals(0, Harness.pinned, Pins.report().toString());
	}

	@Test
	void what_is_serialised_translated_is_read_by_who_is_not() throws Exception {
		List<Path> p = Harness.program(dir, Deserialised.class);
		String plain = dir.resolve("plain").toString();
		assertEquals("", Harness.plain(p, Deserialised.class, plain, "0"));
		String want = Harness.plain(p, Deserialised.class, plain);
		for (int kind = 0; kind < 3; kind++) {
			String ours = dir.resolve("ours" + kind).toString();
			assertEquals("", Harness.pico(p, Deserialised.class, ours, "" + kind));
			assertEquals(want, Harness.plain(p, Deserialised.class, ours), "untranslated " + kind);
			assertEquals(want, Harness.pico(p, Deserialised.class, ours), "translated " + kind);
		}
	}

	@Test
	void a_programs_selectors_do_not_pin() throws Exception {
		same(Selecting.class, "100");
		assertEquals(0, Harness.pinned, Pins.report().toString());
	}

	@Test
	void waits_that_end_in_every_way_at_once_lose_nothing() throws Exception {
		same(Fire.class, "40");
		assertEquals(0, Harness.pinned, Pins.report().toString());
	}

	@Test
	void a_thousand_clients_and_their_server_share_a_carrier() throws Exception {
		same(Crowd.class, "1000");
		assertEquals(0, Harness.pinned);
	}
}
