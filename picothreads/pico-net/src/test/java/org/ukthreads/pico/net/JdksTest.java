// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.Boot;
import org.ukthreads.fixtures.ChannelCalls;
import org.ukthreads.fixtures.Crowd;
import org.ukthreads.fixtures.Datagrams;
import org.ukthreads.fixtures.Deserialised;
import org.ukthreads.fixtures.Fire;
import org.ukthreads.fixtures.LineClients;
import org.ukthreads.fixtures.SecureServer;
import org.ukthreads.fixtures.Selecting;
import org.ukthreads.fixtures.Sockets;
import org.ukthreads.fixtures.Streams;
import org.ukthreads.fixtures.UrlCalls;

/** Compares the network fixtures with each JDK's own network, on one carrier and on four. */
@Tag("long")
final class JdksTest {
	@TempDir
	Path dir;

	/**
	 * Unifies messages that differ between JDKs. Also, the port of a proxy that was just
	 * closed may now belong to another process, which does not speak SOCKS.
	 */
	private static String words(String s) {
		return s.replace("Can't connect to SOCKS proxy:Connection refused", "Connection reset")
			.replaceAll(" \\((Bind failed|Connection refused)\\)", "")
			.replace("Socket is closed", "Socket closed").replace("Already", "already");
	}

	/**
	 * With -Dpico.turn=N, returns one value: the first for as many turns as there are JDKs,
	 * then the other.
	 */
	private static int[] carriers(Integer turn) throws Exception {
		return turn == null ? new int[] {1, 4}
			: new int[] {turn / Children.all().size() % 2 == 0 ? 1 : 4};
	}

	@TestFactory
	List<DynamicTest> the_network_of_each_jdk() throws Exception {
		Path plain = Children.compiled(dir.resolve("plain"), Boot.class, Sockets.class,
			Datagrams.class, ChannelCalls.class, SecureServer.class, UrlCalls.class,
			Crowd.class, LineClients.class, Streams.class, Selecting.class,
			Fire.class, Deserialised.class);
		Path pico = Children.translated(plain, dir.resolve("pico"));
		String keys = SecureTest.keys(dir).toString();
		Path objects = dir.resolve("objects");
		try (OutputStream to = Files.newOutputStream(objects)) {
			Deserialised.write(to);
		}
		String[] all = {"Sockets", "/", "Datagrams", "/", "ChannelCalls", "/", "Crowd", "300",
			"/", "SecureServer", keys, "20", "/", "UrlCalls", keys, "100", "/", "LineClients",
			"/", "Streams", "4", "whole", "/", "Streams", "4", "broken", "/",
			"Selecting", "50", "/", "Fire", "20", "/", "Deserialised", objects.toString()};
		List<DynamicTest> l = new ArrayList<>();
		for (Path home : Children.homes())
			l.add(DynamicTest.dynamicTest(home.toString(), () -> {
				String want = words(Children.run(home, plain, List.of(), all));
				assertTrue(want.contains("== UrlCalls") && !want.contains("\tat "), want);
				for (int carriers : carriers(Integer.getInteger("pico.turn")))
					assertEquals(want, words(Children.run(home, pico, List.of(
						"-Dpico.carriers=" + carriers), all)),
						home + ", carriers: " + carriers);
			}));
		return l;
	}
}
