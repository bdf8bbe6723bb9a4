// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.PlatformManagedObject;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.JMX;
import javax.management.MBeanException;
import javax.management.MBeanServer;
import javax.management.MBeanServerConnection;
import javax.management.MBeanServerFactory;
import javax.management.ObjectName;
import javax.management.ReflectionException;

/**
 * The ways by which translated code gets the ThreadMXBean. The bean that the JVM has registered
 * at the platform's MBean server stays: untranslated code and other processes (agents, jconsole)
 * ask it, and what it says of carriers and CPU time is right for them. So translated code that
 * names it at that server is led to a server with our bean, call by call.
 */
@Internal
public final class ThreadBeans {
	private static final String NAME = ManagementFactory.THREAD_MXBEAN_NAME;

	private ThreadBeans() {}

	/** A server with our bean alone; made when it is first asked. */
	private static final class Ours {
		static final MBeanServer SERVER = MBeanServerFactory.newMBeanServer();

		static {
			try {
				SERVER.registerMBean(ThreadBean.BEAN, new ObjectName(NAME));
			} catch (JMException e) {
				throw new IllegalStateException(e);
			}
		}
	}

	public static ThreadMXBean getThreadMXBean() {
		return ThreadBean.BEAN;
	}

	private static boolean isOurs(Class<?> type) {
		return type != null && ThreadMXBean.class.isAssignableFrom(type)
			&& type.isInstance(ThreadBean.BEAN);
	}

	public static PlatformManagedObject getPlatformMXBean(
			Class<? extends PlatformManagedObject> type) {
		return isOurs(type) ? ThreadBean.BEAN : ManagementFactory.getPlatformMXBean(type);
	}

	public static List<PlatformManagedObject> getPlatformMXBeans(
			Class<? extends PlatformManagedObject> type) {
		List<PlatformManagedObject> l
			= new ArrayList<>(ManagementFactory.getPlatformMXBeans(type));
		if (isOurs(type)) {
			l.clear();
			l.add(ThreadBean.BEAN);
		}
		return l;
	}

	/** The server to ask for name when the program asks c. */
	private static MBeanServerConnection at(MBeanServerConnection c, ObjectName name) {
		return name != null && NAME.equals(name.getCanonicalName()) ? at(c) : c;
	}

	private static MBeanServerConnection at(MBeanServerConnection c) {
		return c == ManagementFactory.getPlatformMBeanServer() ? Ours.SERVER : c;
	}

	public static Object newPlatformMXBeanProxy(MBeanServerConnection c, String name,
			Class<?> type) throws IOException {
		return ManagementFactory.newPlatformMXBeanProxy(
			NAME.equals(name) ? at(c) : c, name, type);
	}

	public static Object newMXBeanProxy(MBeanServerConnection c, ObjectName name,
			Class<?> type) {
		return JMX.newMXBeanProxy(at(c, name), name, type);
	}

	public static Object newMXBeanProxy(MBeanServerConnection c, ObjectName name,
			Class<?> type, boolean notifies) {
		return JMX.newMXBeanProxy(at(c, name), name, type, notifies);
	}

	/* These call beans of the program in a way that their stack does not show: bracketed. */

	public static Object getAttribute(MBeanServerConnection c, ObjectName name, String of)
			throws MBeanException, AttributeNotFoundException, InstanceNotFoundException,
			ReflectionException, IOException {
		Pins.enter();
		try {
			return at(c, name).getAttribute(name, of);
		} finally {
			Pins.exit();
		}
	}

	public static AttributeList getAttributes(MBeanServerConnection c, ObjectName name,
			String[] of) throws InstanceNotFoundException, ReflectionException, IOException {
		Pins.enter();
		try {
			return at(c, name).getAttributes(name, of);
		} finally {
			Pins.exit();
		}
	}

	public static Object invoke(MBeanServerConnection c, ObjectName name, String method,
			Object[] args, String[] types) throws InstanceNotFoundException, MBeanException,
			ReflectionException, IOException {
		Pins.enter();
		try {
			return at(c, name).invoke(name, method, args, types);
		} finally {
			Pins.exit();
		}
	}
}
