package org.ukthreads.pico;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandleProxies;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * Method handles that the JDK calls where no rule sees it. Their frames are hidden, so that
 * the stack does not show them: the handle itself says that it pins.
 */
public final class Handles {
	private static final MethodHandle CALL;

	static {
		try {
			CALL = MethodHandles.lookup().findStatic(Handles.class, "call", MethodType
				.methodType(Object.class, MethodHandle.class, Object[].class));
		} catch (ReflectiveOperationException e) {
			throw new ExceptionInInitializerError(e);
		}
	}

	private Handles() {}

	/** As MethodHandleProxies.asInterfaceInstance. */
	public static <T> T asInterfaceInstance(Class<T> type, MethodHandle target) {
		return MethodHandleProxies.asInterfaceInstance(type, pinned(target));
	}

	private static MethodHandle pinned(MethodHandle h) {
		MethodType t = h.type();
		MethodHandle p = CALL.bindTo(h.asFixedArity())
			.asCollector(Object[].class, t.parameterCount()).asType(t);
		return h.isVarargsCollector()
			? p.asVarargsCollector(t.parameterType(t.parameterCount() - 1)) : p;
	}

	private static Object call(MethodHandle h, Object[] args) throws Throwable {
		Pins.enter();
		try {
			return h.invokeWithArguments(args);
		} finally {
			Pins.exit();
		}
	}
}
