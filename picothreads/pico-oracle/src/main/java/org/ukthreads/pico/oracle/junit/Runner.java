// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.oracle.junit;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectUniqueId;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs classes or single tests in the loader of the tests, and reports each outcome. */
public final class Runner implements BiConsumer<List<Object>, BiConsumer<String, String>> {
	/** what: classes, or ids of tests; to: gets a test's id, and "ok" or what went wrong. */
	@Override
	public void accept(List<Object> what, BiConsumer<String, String> to) {
		List<DiscoverySelector> selected = new ArrayList<>();
		for (Object o : what)
			selected.add(o instanceof Class ? selectClass((Class<?>) o)
				: selectUniqueId((String) o));
		LauncherDiscoveryRequest r = LauncherDiscoveryRequestBuilder.request()
			.selectors(selected).configurationParameter(
				"junit.platform.discovery.listener.default", "logging").build();
		LauncherFactory.create().execute(r, new TestExecutionListener() {
			@Override
			public void executionFinished(TestIdentifier t, TestExecutionResult x) {
				/* A container that fails counts as one: its tests do not run. */
				boolean ok = x.getStatus() == TestExecutionResult.Status.SUCCESSFUL;
				if (t.isTest() || !ok)
					to.accept(t.getUniqueId(), ok ? "ok" : x.getStatus() + " "
						+ x.getThrowable().map(Runner::text).orElse(""));
			}

			@Override
			public void executionSkipped(TestIdentifier t, String why) {
				to.accept(t.getUniqueId(), "SKIPPED " + why);
			}
		});
	}

	private static String text(Throwable e) {
		StringWriter w = new StringWriter();
		e.printStackTrace(new PrintWriter(w));
		return w.toString();
	}
}
