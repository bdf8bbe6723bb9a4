/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.frontier;

import java.io.Closeable;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * The URLs that are known, and those that are still to be fetched. Each URL is handed out once.
 * It is handed out again only if its lease ends without done(), because the process died. Any
 * thread may call.
 */
public interface Frontier extends Closeable {
	/** Adds the links that are not known yet. Returns their number, as far as it is known. */
	int add(List<Link> links) throws IOException;

	/**
	 * Leases the next URL. Waits while only URLs under way can bring more. Empty: the crawl is
	 * over.
	 */
	Optional<Link> take() throws IOException, InterruptedException;

	/** Settles the link and adds the links found, in one step: a crash keeps both or neither. */
	void done(Link link, List<Link> found) throws IOException;

	/** Gives up the lease without a result, for example because its time is over. */
	void abandon(Link link);

	/** Makes take() return empty from now on. */
	void stop();

	/** Returns the number of known URLs, as far as this process can tell. */
	long known();

	/** Returns how many of the known URLs are not settled. */
	long open();
}
