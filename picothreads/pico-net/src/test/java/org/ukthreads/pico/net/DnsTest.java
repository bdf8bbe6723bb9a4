// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.Boot;
import org.ukthreads.fixtures.Names;
import org.xbill.DNS.AAAARecord;
import org.xbill.DNS.ARecord;
import org.xbill.DNS.CNAMERecord;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Flags;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;
import org.xbill.DNS.Type;

/** Looks names up at a server of the test, asynchronously. */
final class DnsTest {
	private static final long LATE = 300;

	@TempDir
	Path dir;
	private DatagramSocket socket;
	private final ScheduledExecutorService timer = Executors.newScheduledThreadPool(1);
	private final Map<String, Integer> asked = new ConcurrentHashMap<>();
	/** The number of queries that the server will ignore. */
	private volatile int lost;

	@BeforeEach
	void serve() throws IOException {
		socket = new DatagramSocket(0, InetAddress.getLoopbackAddress());
		Thread t = new Thread(() -> {
			byte[] b = new byte[1500];
			try {
				for (;;) {
					DatagramPacket p = new DatagramPacket(b, b.length);
					socket.receive(p);
					if (lost > 0) {
						lost--;
						continue;
					}
					Message q = new Message(java.util.Arrays.copyOf(b, p.getLength()));
					byte[] a = answer(q).toWire();
					String host = host(q);
					timer.schedule(() -> {
						socket.send(new DatagramPacket(a, a.length, p.getSocketAddress()));
						return null;
					}, host.startsWith("slow") ? LATE : 0, TimeUnit.MILLISECONDS);
				}
			} catch (IOException e) {
				return;
			}
		}, "dns");
		t.setDaemon(true);
		t.start();
	}

	@AfterEach
	void stop() {
		socket.close();
		timer.shutdownNow();
	}

	private static String host(Message q) {
		return q.getQuestion().getName().toString(true);
	}

	private Message answer(Message q) throws IOException {
		Record r = q.getQuestion();
		Name n = r.getName();
		String host = host(q);
		asked.merge(host + " " + Type.string(r.getType()), 1, Integer::sum);
		Message a = new Message(q.getHeader().getID());
		a.getHeader().setFlag(Flags.QR);
		a.getHeader().setFlag(Flags.RA);
		a.addRecord(r, Section.QUESTION);
		boolean four = r.getType() == Type.A;
		if (host.equals("nosuch.test")) {
			a.getHeader().setRcode(Rcode.NXDOMAIN);
		} else if (host.equals("alias.test")) {
			Name to = Name.fromString("one.test.");
			a.addRecord(new CNAMERecord(n, DClass.IN, 60, to), Section.ANSWER);
			if (four)
				a.addRecord(new ARecord(to, DClass.IN, 60, InetAddress.getByName("127.0.0.1")),
					Section.ANSWER);
		} else if (host.equals("six.test") && !four) {
			a.addRecord(new AAAARecord(n, DClass.IN, 60, InetAddress.getByName("::1")),
				Section.ANSWER);
		} else if (four && !host.equals("six.test") && !host.equals("empty.test")) {
			a.addRecord(new ARecord(n, DClass.IN, 60, InetAddress.getByName("127.0.0.1")),
				Section.ANSWER);
			if (host.equals("many.test"))
				a.addRecord(new ARecord(n, DClass.IN, 60, InetAddress.getByName("127.0.0.2")),
					Section.ANSWER);
		}
		return a;
	}

	private String names(int carriers) throws Exception {
		Path plain = dir.resolve("plain");
		Path pico = dir.resolve("pico");
		if (!Files.exists(pico))
			Children.translated(Children.compiled(plain, Boot.class, Names.class), pico);
		Path hosts = Files.writeString(dir.resolve("hosts"), "1::2::3 no.test\n"
			+ "127.0.0.7 filed.test # file\n127.300.0.1 no.test\n");
		return Children.run(Paths.get(System.getProperty("java.home")), pico, List.of(
			"-Dpico.carriers=" + carriers, "-Djdk.net.hosts.file=" + hosts,
			"-Dpico.dns=127.0.0.1:" + socket.getLocalPort()), "Names", "" + LATE);
	}

	private static final String WANT = String.join("\n", "== Names",
		"one.test/127.0.0.1",
		"many.test/127.0.0.1 many.test/127.0.0.2",
		"six.test/0:0:0:0:0:0:0:1",
		"alias.test/127.0.0.1",
		"nosuch.test: Name or service not known",
		"empty.test: Name or service not known",
		"filed.test/127.0.0.7",
		"localhost/127.0.0.1",
		"/127.0.0.9",
		"/0:0:0:0:0:0:0:1",
		"one.test",
		"200 found, at least the delay: true, not one after the other: true, ticked: true",
		"slow-interrupted.test/127.0.0.1 true",
		"slow-connect.test/127.0.0.1",
		"unknown", "");

	@Test
	@Tag("long")
	void names_are_looked_up_without_blocking_the_carrier() throws Exception {
		for (int carriers : new int[] {1, 4}) {
			asked.clear();
			assertEquals(WANT, names(carriers).replace(" localhost/0:0:0:0:0:0:0:1", ""));
			assertEquals(1, asked.get("one.test A"), "a cached name was queried again");
			assertTrue(asked.getOrDefault("filed.test A", 0) == 0, "the hosts file was ignored");
		}
	}

	@Test
	@Tag("long")
	void a_question_that_is_lost_is_asked_again() throws Exception {
		lost = 2;
		assertEquals(WANT, names(1).replace(" localhost/0:0:0:0:0:0:0:1", ""));
		assertEquals(0, lost);
	}
}
