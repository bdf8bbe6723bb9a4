// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.concurrent.atomic.AtomicLong;

/** One translated method, or one primitive. Compared by identity: one object per method. */
@Internal
public final class MethodRef {
	/** The class that holds the code. */
	final Class<?> holder;
	public final String owner;
	public final String name;
	public final String desc;
	/** Hash of the untranslated code. A saved frame is refused if the code has another hash. */
	public final long hash;
	/** Number of suspensions in which it took part; null: they are not counted. */
	final AtomicLong suspended = Profile.ON ? new AtomicLong() : null;

	MethodRef(Class<?> holder, String owner, String name, String desc, long hash) {
		this.holder = holder;
		this.owner = owner;
		this.name = name;
		this.desc = desc;
		this.hash = hash;
	}

	/** A static method of the runtime that throws the capture itself. */
	static MethodRef primitive(Class<?> holder, String name, String desc) {
		return new MethodRef(holder, holder.getName().replace('.', '/'), name, desc, 0);
	}

	@Override
	public String toString() {
		return owner.replace('/', '.') + '.' + name + desc;
	}
}
