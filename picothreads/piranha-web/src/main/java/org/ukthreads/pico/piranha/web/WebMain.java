/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.web;

import java.io.IOException;

/** Serves the test web until it is killed. Its first line of output is the URL to start from. */
public final class WebMain {
	private static final String USAGE = "usage: java -jar piranha-web.jar [--pages=30000]"
			+ " [--hosts=4] [--fanout=20] [--size=BYTES|MIN-MAX] [--delay=MS] [--port=0]"
			+ " [--seed=1997] [--traps] [--log]";

	private WebMain() {
	}

	public static void main(String[] args) throws IOException, InterruptedException {
		WebBuilder web = new WebBuilder().logging(false);
		try {
			for (String arg : args) {
				apply(web, arg);
			}
		} catch (IllegalArgumentException e) {
			System.err.println("piranha-web: " + e.getMessage() + "\n" + USAGE);
			System.exit(2);
		}
		try (TestWeb running = web.start()) {
			System.out.println(running.url(0));
			System.out.flush();
			Thread.currentThread().join();
		}
	}

	private static void apply(WebBuilder web, String arg) {
		int eq = arg.indexOf('=');
		String name = eq < 0 ? arg : arg.substring(0, eq);
		String value = eq < 0 ? "" : arg.substring(eq + 1);
		switch (name) {
			case "--pages": web.pages(number(arg, value)); break;
			case "--hosts": web.hosts(number(arg, value)); break;
			case "--fanout": web.fanout(number(arg, value)); break;
			case "--delay": web.delayMillis(number(arg, value)); break;
			case "--port": web.port(number(arg, value)); break;
			case "--seed": web.seed(number(arg, value)); break;
			case "--traps": web.traps(true); break;
			case "--log": web.logging(true); break;
			case "--size":
				int dash = value.indexOf('-');
				web.size(number(arg, dash < 0 ? value : value.substring(0, dash)),
						number(arg, dash < 0 ? value : value.substring(dash + 1)));
				break;
			default: throw new IllegalArgumentException("unknown option: " + arg);
		}
	}

	private static int number(String arg, String value) {
		try {
			return Integer.parseInt(value);
		} catch (NumberFormatException e) {
			throw new IllegalArgumentException(arg + ": expected a number");
		}
	}
}
