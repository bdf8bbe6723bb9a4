/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.frontier;

import java.io.Closeable;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * What is known and what is still to be fetched. Each URL is handed out once: to be handed out
 * again, its lease must have ended without done() (the process died). Any thread may call.
 */
public interface Frontier extends Closeable {
	/** Makes new those of the links that are unknown. The count, or what is known of it. */
	int add(List<Link> links) throws IOException;

	/** Leases the next URL; waits while only others' work can bring one. Empty: it is over. */
	Optional<Link> take() throws IOException, InterruptedException;

	/** Settles the link and adds what it led to, in one step: a crash sees both or neither. */
	void done(Link link, List<Link> found) throws IOException;

	/** Gives up the lease without a result: its time is over, somebody else has it. */
	void abandon(Link link);

	/** From now on take() answers "over". */
	void stop();

	/** URLs known so far, as far as this process can tell. */
	long known();

	/** Among them, those that are not settled. */
	long open();
}
