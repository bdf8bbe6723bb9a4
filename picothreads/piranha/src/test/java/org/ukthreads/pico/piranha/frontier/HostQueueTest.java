/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.frontier;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import crawlercommons.urlfrontier.Urlfrontier.URLInfo;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

final class HostQueueTest {
	private final HostQueue queue = new HostQueue();

	@Test
	void a_lease_ends_and_the_url_comes_back_first() {
		queue.discover(url("a"));
		queue.discover(url("b"));
		assertEquals("a", lease(1, 0, 100));
		assertEquals("b", lease(9, 50, 100));
		assertEquals("", lease(9, 99, 100));
		assertEquals("a", lease(9, 100, 100));
		assertEquals("b", lease(9, 150, 100));
	}

	@Test
	void a_settled_url_never_comes_back() {
		assertTrue(queue.discover(url("a")));
		assertEquals("a", lease(1, 0, 100));
		queue.result(url("a"), 0);
		assertEquals("", lease(1, 1000, 100));
		assertFalse(queue.discover(url("a")));
		assertEquals(0, queue.open());
		assertEquals(1, queue.settled());
	}

	@Test
	void a_result_after_the_lease_still_counts() {
		queue.discover(url("a"));
		lease(1, 0, 100);
		assertTrue(queue.hasDue(200));
		queue.result(url("a"), 0);
		assertEquals("", lease(1, 300, 100));
	}

	@Test
	void a_later_fetch_date_is_kept() {
		queue.discover(url("a"));
		lease(1, 0, 100);
		queue.result(url("a"), 5000);
		assertEquals("", lease(1, 4999, 100));
		assertEquals("a", lease(1, 5000, 100));
	}

	@Test
	void a_delay_holds_the_queue_back() {
		queue.delay(1000);
		queue.discover(url("a"));
		queue.discover(url("b"));
		assertEquals("a", lease(1, 0, 9999));
		assertEquals("", lease(1, 999, 9999));
		assertEquals("b", lease(1, 1000, 9999));
	}

	private String lease(int most, long now, long millis) {
		List<URLInfo> leased = queue.lease(most, now, millis);
		return leased.stream().map(URLInfo::getUrl).collect(Collectors.joining(" "));
	}

	private static URLInfo url(String url) {
		return URLInfo.newBuilder().setUrl(url).build();
	}
}
