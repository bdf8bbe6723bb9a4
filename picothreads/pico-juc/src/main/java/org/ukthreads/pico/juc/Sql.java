// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverAction;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.Properties;
import java.util.ServiceLoader;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * DriverManager in translated code, because Driver.connect waits for the network. Drivers
 * are registered with the JDK's as well.
 */
public final class Sql {
	private static final List<Driver> DRIVERS = new CopyOnWriteArrayList<>();
	private static volatile ClassLoader loaded;

	private Sql() {}

	public static void registerDriver(Driver d) throws SQLException {
		DriverManager.registerDriver(d);
		add(d);
	}

	public static void registerDriver(Driver d, DriverAction a) throws SQLException {
		DriverManager.registerDriver(d, a);
		add(d);
	}

	private static void add(Driver d) {
		for (Driver x : DRIVERS)
			if (x.getClass() == d.getClass())
				return;
		DRIVERS.add(d);
	}

	public static void deregisterDriver(Driver d) throws SQLException {
		DRIVERS.remove(d);
		try {
			DriverManager.deregisterDriver(d);
		} catch (SecurityException e) {
			/* The JDK checks its caller's class loader, which is not the program's. */
			return;
		}
	}

	/** Adds the drivers that the class path announces. */
	private static void load() {
		ClassLoader l = Thread.currentThread().getContextClassLoader();
		if (l == loaded)
			return;
		loaded = l;
		for (java.util.Iterator<Driver> i = ServiceLoader.load(Driver.class, l).iterator();;) {
			try {
				if (!i.hasNext())
					return;
				add(i.next());
			} catch (java.util.ServiceConfigurationError e) {
				continue;
			}
		}
	}

	public static Connection getConnection(String url) throws SQLException {
		return getConnection(url, new Properties());
	}

	public static Connection getConnection(String url, String user, String password)
			throws SQLException {
		Properties p = new Properties();
		if (user != null)
			p.put("user", user);
		if (password != null)
			p.put("password", password);
		return getConnection(url, p);
	}

	public static Connection getConnection(String url, Properties p) throws SQLException {
		if (url == null)
			throw new SQLException("The url cannot be null", "08001");
		load();
		SQLException reason = null;
		for (Driver d : DRIVERS) {
			try {
				Connection c = d.connect(url, p);
				if (c != null)
					return c;
			} catch (SQLException e) {
				if (reason == null)
					reason = e;
			}
		}
		if (reason != null)
			throw reason;
		throw new SQLException("No suitable driver found for " + url, "08001");
	}
}
