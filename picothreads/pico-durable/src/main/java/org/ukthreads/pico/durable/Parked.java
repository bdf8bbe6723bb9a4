// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.ukthreads.pico.Freezer;
import org.ukthreads.pico.NeverBlocks;

/** A copy of a stored thread to look at. It does not run. */
@NeverBlocks
public final class Parked {
	public final String id;
	/** How it waits: new, commit, receive, sleep, wait. */
	public final String waits;
	/** Until when it waits, epoch milliseconds; Long.MAX_VALUE: without a time limit. */
	public final long until;
	/** The release of the program that started it. */
	public final String release;
	/** The object that it exposes (Durable.expose), or null. */
	public final Object exposed;
	/** Its frames, innermost first; empty if it has not begun. */
	public final List<Freezer.Looked> frames;
	final Header head;
	private final List<Object> held = new ArrayList<>();

	private Parked(String id, Header h, Object exposed, List<Freezer.Looked> frames,
			Object task) {
		this.id = id;
		head = h;
		waits = h.waits();
		until = h.until;
		release = h.release;
		this.exposed = exposed;
		this.frames = frames;
		if (task != null)
			held.add(task);
		for (Freezer.Looked f : frames)
			Collections.addAll(held, f.refs);
	}

	static Parked of(String id, Bytes b, Codec codec) {
		Header h = new Header(b);
		Decoder d = new Decoder(codec, b, null);
		DurableThread.versions(d);
		Object exposed = d.ref();
		if (h.kind == DurableThread.NEW)
			return new Parked(id, h, exposed, Collections.emptyList(), d.ref());
		return new Parked(id, h, exposed, Freezer.look(d), null);
	}

	/**
	 * Returns the outermost object of that class that its frames hold, such as its task, or null.
	 */
	public <T> T find(Class<T> c) {
		for (int k = held.size(); k-- > 0;)
			if (c.isInstance(held.get(k)))
				return c.cast(held.get(k));
		return null;
	}

	/** Returns why it cannot go on with the present code; null: it can. */
	public Freezer.ChangedException refused() {
		for (Freezer.Looked f : frames)
			if (f.refused != null)
				return f.refused;
		if (frames.isEmpty() && !held.isEmpty())
			try {
				Freezer.checkTask(held.get(0).getClass(), head.task);
			} catch (Freezer.ChangedException e) {
				return e;
			}
		return null;
	}
}
