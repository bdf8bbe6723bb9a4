// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.gradle;

import java.io.File;
import java.util.ArrayList;
import java.util.List;

/** What a build script says in {@code pico { ... }}; the Maven plugin has the same words. */
public class PicoExtension {
	private String hot = "direct";
	private boolean library = true;
	private List<String> conservative = new ArrayList<>();
	private List<File> rules = new ArrayList<>();

	/** direct, all, none, or a profile (`pico run --profile`) of what suspends often. */
	public String getHot() {
		return hot;
	}

	public void setHot(String hot) {
		this.hot = hot;
	}

	/** Mark what suspends, so that other projects can be translated against this one. */
	public boolean isLibrary() {
		return library;
	}

	public void setLibrary(boolean library) {
		this.library = library;
	}

	/** Packages all of whose methods are taken to suspend. */
	public List<String> getConservative() {
		return conservative;
	}

	public void setConservative(List<String> conservative) {
		this.conservative = conservative;
	}

	/** Files of more replacement rules. */
	public List<File> getRules() {
		return rules;
	}

	public void setRules(List<File> rules) {
		this.rules = rules;
	}
}
