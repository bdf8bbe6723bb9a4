// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.oracle;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import junit.framework.Test;
import junit.framework.TestCase;
import junit.framework.TestFailure;
import junit.framework.TestResult;
import junit.framework.TestSuite;

/**
 * Runs the JSR-166 TCK, or those of its tests whose names match: <code>Tck OUT [PATTERN [PART
 * PARTS]]</code>, which divides its classes into PARTS. Translated with it. OUT gets a line per
 * test: its name, then "ok" or what was thrown.
 */
public final class Tck {
	private Tck() {}

	public static void main(String[] a) throws Exception {
		Pattern only = Pattern.compile(a.length > 1 ? a[1] : ".*");
		int part = a.length > 2 ? Integer.parseInt(a[2]) : 0;
		int parts = a.length > 2 ? Integer.parseInt(a[3]) : 1;
		Map<String, Integer> seen = new HashMap<>();
		try (PrintWriter out = new PrintWriter(a[0], "UTF-8")) {
			for (TestCase t : tests()) {
				/* The same test occurs once for each class of collections. */
				String id = t.getClass().getName() + "." + t.getName();
				int n = seen.merge(id, 1, Integer::sum);
				if (n > 1)
					id += "#" + n;
				int at = Math.floorMod(id.replaceAll("[.$].*", "").hashCode(), parts);
				if (at != part || !only.matcher(id).matches())
					continue;
				out.print(id + "\t");
				out.flush();
				out.println(outcome(t));
			}
			out.println("#end\tok");
		}
		System.exit(0);
	}

	private static List<TestCase> tests() throws Exception {
		List<TestCase> l = new ArrayList<>();
		flat((Test) Class.forName("JSR166TestCase").getMethod("suite").invoke(null), l);
		return l;
	}

	private static void flat(Test t, List<TestCase> to) {
		if (!(t instanceof TestSuite)) {
			to.add((TestCase) t);
			return;
		}
		for (Enumeration<Test> e = ((TestSuite) t).tests(); e.hasMoreElements();)
			flat(e.nextElement(), to);
	}

	private static String outcome(TestCase t) {
		TestResult r = new TestResult();
		t.run(r);
		Enumeration<TestFailure> bad = r.errorCount() > 0 ? r.errors() : r.failures();
		if (!bad.hasMoreElements())
			return "ok";
		StringWriter w = new StringWriter();
		bad.nextElement().thrownException().printStackTrace(new PrintWriter(w));
		return w.toString().replace("\t", "  ").replace("\r", "").replace("\n", "\\n");
	}
}
