// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.gradle;

import java.io.File;
import java.util.ArrayList;
import java.util.List;

/** The settings in a build script's {@code pico { ... }}. The Maven plugin has the same names. */
public class PicoExtension {
	private String hot = "direct";
	private boolean library = true;
	private List<String> conservative = new ArrayList<>();
	private List<File> rules = new ArrayList<>();

	/**
	 * direct, all, none, or a profile (`pico run --profile`) of the methods that suspend often.
	 */
	public String getHot() {
		return hot;
	}

	public void setHot(String hot) {
		this.hot = hot;
	}

	/**
	 * Whether to mark the methods that may suspend, so that other projects can be translated
	 * against this one.
	 */
	public boolean isLibrary() {
		return library;
	}

	public void setLibrary(boolean library) {
		this.library = library;
	}

	/** Packages whose methods are all taken to suspend. */
	public List<String> getConservative() {
		return conservative;
	}

	public void setConservative(List<String> conservative) {
		this.conservative = conservative;
	}

	/** Files with additional replacement rules. */
	public List<File> getRules() {
		return rules;
	}

	public void setRules(List<File> rules) {
		this.rules = rules;
	}
}
