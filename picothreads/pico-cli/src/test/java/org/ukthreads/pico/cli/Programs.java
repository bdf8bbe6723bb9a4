// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/*
 * Random Java programs that end, and whose output depends on everything they compute.
 *
 * All methods call each other downwards (m0 calls m1, and so on), so there is no recursion. Loops
 * count to small numbers. Arithmetic throws only where an exception is wanted, such as
 * ArithmeticException. The constructs that matter to the translator are frequent: live values on
 * the operand stack at calls, `new` with calls in its arguments, locals of all types,
 * try/catch/finally around calls, switches, loops, ternaries, lambdas, string concatenation,
 * arrays, synchronized blocks, interface and super calls.
 */
final class Programs {
	private final Random r;
	private final StringBuilder b = new StringBuilder();
	private int depth;
	private int method;
	private int vars;
	private final List<String[]> scope = new ArrayList<>();
	static final int METHODS = 7;
	private static final String[] TYPES = {"int", "long", "double", "float", "String",
		"boolean", "char", "byte", "short", "Object", "int[]"};
	private final String[] returns = new String[METHODS];
	private final String[][] params = new String[METHODS][];

	Programs(long seed) {
		r = new Random(seed);
	}

	String make(String name) {
		for (int k = 0; k < METHODS; k++) {
			returns[k] = TYPES[r.nextInt(TYPES.length)];
			params[k] = new String[r.nextInt(5)];
			for (int j = 0; j < params[k].length; j++)
				params[k][j] = TYPES[r.nextInt(TYPES.length)];
		}
		b.append("import java.util.*;\npublic class ").append(name).append(" {\n")
			.append("  static int fuel = 4000; static long h = 17;\n")
			.append("  static final Object LOCK = new StringBuilder(\"L\");\n")
			.append("  interface F { Object ap(int a, Object o, double d); }\n")
			.append("  static class Box { final Object v; final int k; Box(Object v, int k) {"
				+ " this.v = v; this.k = k; } public String toString() { return \"B\" + v + k;"
				+ " } Object get(int j) { return j > k ? v : this; } }\n")
			.append("  static class Sub extends Box { final long w; Sub(Object v, long w) {"
				+ " super(v, (int) w); this.w = w; } Object get(int j) { return w > j ?"
				+ " super.get(j) : id(w); } }\n")
			.append("  static <T> T id(T t) { mix(t); return t; }\n")
			.append("  static void mix(Object o) { h = h * 31 + (o instanceof int[] ?"
				+ " Arrays.hashCode((int[]) o) : o == null ? 7 : o.toString().hashCode()); }\n")
			.append("  static int div(int a, int b) { return a / (b % 3); }\n")
			.append("  static boolean go() { return --fuel > 0; }\n");
		for (int k = METHODS - 1; k >= 0; k--)
			method(k);
		b.append("  public static void main(String[] a) {\n")
			.append("    try { mix(m0(").append(args0()).append(")); }"
				+ " catch (RuntimeException e) { mix(e.getClass()); }\n")
			.append("    System.out.println(h + \" \" + fuel);\n  }\n}\n");
		return b.toString();
	}

	private String args0() {
		scope.clear();
		method = METHODS;
		depth = 5;
		StringBuilder s = new StringBuilder();
		for (int j = 0; j < params[0].length; j++)
			s.append(j > 0 ? ", " : "").append(expr(params[0][j]));
		return s.toString();
	}

	private void method(int k) {
		method = k;
		scope.clear();
		vars = 0;
		depth = 0;
		b.append("  static ").append(r.nextInt(8) == 0 ? "synchronized " : "").append(returns[k])
			.append(" m").append(k).append('(');
		for (int j = 0; j < params[k].length; j++) {
			b.append(j > 0 ? ", " : "").append(params[k][j]).append(" p").append(j);
			scope.add(new String[] {params[k][j], "p" + j, "v"});
		}
		b.append(") {\n");
		block(2 + r.nextInt(4), 2);
		b.append("    return ").append(expr(returns[k])).append(";\n  }\n");
	}

	private void block(int n, int nest) {
		int mark = scope.size();
		for (int k = 0; k < n; k++)
			statement(nest);
		while (scope.size() > mark)
			scope.remove(scope.size() - 1);
	}

	private void statement(int nest) {
		depth = 0;
		int kind = r.nextInt(nest > 0 ? 13 : 5);
		switch (kind) {
		case 0: case 1: case 2: {
			String t = TYPES[r.nextInt(TYPES.length)];
			String v = "v" + vars++;
			b.append("    ").append(t).append(' ').append(v).append(" = ").append(expr(t))
				.append(";\n");
			scope.add(new String[] {t, v, "v"});
			break;
		}
		case 3: {
			String[] v = variable(null);
			if (v == null)
				b.append("    mix(").append(expr("Object")).append(");\n");
			else
				b.append("    ").append(v[1]).append(" = ").append(expr(v[0])).append(";\n");
			break;
		}
		case 4:
			b.append("    mix(").append(expr(TYPES[r.nextInt(TYPES.length)])).append(");\n");
			break;
		case 5: case 6:
			b.append("    if (").append(expr("boolean")).append(") {\n");
			block(1 + r.nextInt(2), nest - 1);
			b.append("    } else {\n");
			block(r.nextInt(2), nest - 1);
			b.append("    }\n");
			break;
		case 7: case 8: {
			String i = "i" + vars++;
			b.append("    for (int ").append(i).append(" = 0; ").append(i).append(" < ")
				.append(1 + r.nextInt(3)).append(" && go(); ").append(i).append("++) {\n");
			scope.add(new String[] {"int", i, ""});
			block(1 + r.nextInt(3), nest - 1);
			if (r.nextInt(3) == 0)
				b.append("    if (").append(expr("boolean")).append(") ")
					.append(r.nextBoolean() ? "break" : "continue").append(";\n");
			b.append("    }\n");
			scope.remove(scope.size() - 1);
			break;
		}
		case 9: case 10:
			String e = "e" + vars++;
			b.append("    try {\n");
			block(1 + r.nextInt(2), nest - 1);
			if (r.nextInt(3) == 0)
				b.append("    if (").append(expr("boolean"))
					.append(") throw new IllegalStateException(").append(expr("String"))
					.append(");\n");
			b.append("    } catch (ArithmeticException ").append(e).append(") { mix(").append(e)
				.append(".getMessage());\n");
			block(1, nest - 1);
			b.append("    } ");
			if (r.nextBoolean())
				b.append("catch (RuntimeException ").append(e).append(") { mix(").append(e)
					.append(".getClass()); } ");
			b.append("finally {\n");
			block(1, nest - 1);
			b.append("    }\n");
			break;
		case 11:
			boolean str = r.nextBoolean();
			b.append("    switch (").append(str ? "String.valueOf(" + expr("int") + " & 3)"
				: expr("int") + " & 3");
			b.append(") {\n");
			for (int k = 0; k < 3; k++) {
				b.append("    case ").append(str ? "\"" + k + "\"" : k).append(": {\n");
				block(1, nest - 1);
				b.append("    } ").append(r.nextBoolean() ? "break;" : "").append('\n');
			}
			b.append("    default: { mix(").append(expr("Object")).append("); }\n    }\n");
			break;
		default:
			b.append("    synchronized (").append(r.nextBoolean() ? "LOCK"
				: "id(LOCK)").append(") {\n");
			block(1 + r.nextInt(2), nest - 1);
			b.append("    }\n");
			break;
		}
	}

	private String[] variable(String type) {
		List<String[]> l = new ArrayList<>();
		for (String[] v : scope)
			if (type == null ? !v[2].isEmpty() : v[0].equals(type))
				l.add(v);
		return l.isEmpty() ? null : l.get(r.nextInt(l.size()));
	}

	private String expr(String t) {
		depth++;
		try {
			int k = r.nextInt(10);
			if (depth > 4 || k < 2) {
				String[] v = variable(t);
				return v != null && r.nextInt(4) > 0 ? v[1] : constant(t);
			}
			if (k < 5) {
				String c = call(t);
				if (c != null)
					return c;
			}
			if (k == 5)
				return "(" + expr("boolean") + " ? " + expr(t) + " : " + expr(t) + ")";
			return operation(t);
		} finally {
			depth--;
		}
	}

	private String call(String t) {
		List<Integer> l = new ArrayList<>();
		for (int k = method + 1; k < METHODS; k++)
			if (returns[k].equals(t))
				l.add(k);
		if (l.isEmpty())
			return null;
		int k = l.get(r.nextInt(l.size()));
		StringBuilder s = new StringBuilder("m" + k + "(");
		for (int j = 0; j < params[k].length; j++)
			s.append(j > 0 ? ", " : "").append(expr(params[k][j]));
		return s.append(')').toString();
	}

	private String constant(String t) {
		switch (t) {
		case "int": return String.valueOf(r.nextInt(100) - 50);
		case "long": return r.nextInt(1000) + "L";
		case "double": return r.nextInt(100) / 4.0 + "";
		case "float": return r.nextInt(100) / 4.0 + "f";
		case "String": return r.nextInt(6) == 0 ? "(String) null" : "\"s" + r.nextInt(9) + "\"";
		case "boolean": return r.nextBoolean() + "";
		case "char": return "'" + (char) ('a' + r.nextInt(26)) + "'";
		case "byte": return "(byte) " + r.nextInt(100);
		case "short": return "(short) " + r.nextInt(1000);
		case "int[]": return "new int[] {" + r.nextInt(9) + ", " + r.nextInt(9) + "}";
		default: return r.nextInt(5) == 0 ? "null" : "\"o\"";
		}
	}

	private String operation(String t) {
		switch (t) {
		case "int":
			switch (r.nextInt(8)) {
			case 0: return "div(" + expr("int") + ", " + expr("int") + ")";
			case 1: return "(int) " + paren("long");
			case 2: return "(" + expr("char") + " + " + expr("byte") + ")";
			case 3: return expr("int[]") + "[" + expr("int") + " & 1]";
			case 4: return "(" + expr("String") + " + " + expr("int") + ").length()";
			case 5: return "(int) " + paren("double");
			default: return "(" + expr("int") + pick(" + ", " - ", " * ", " ^ ") + expr("int")
				+ ")";
			}
		case "long":
			return r.nextInt(3) == 0 ? "(long) " + paren("int") : "(" + expr("long")
				+ pick(" + ", " - ", " * ") + expr("int") + ")";
		case "double":
			return "(" + expr("double") + pick(" + ", " * ") + expr("float") + ")";
		case "float":
			return "(" + expr("float") + pick(" + ", " - ") + expr("int") + ")";
		case "String":
			return r.nextBoolean() ? "(" + expr("String") + " + " + expr("long") + " + "
				+ expr("boolean") + ")" : "String.valueOf(" + expr("char") + ")";
		case "boolean":
			return r.nextBoolean() ? "(" + expr("int") + pick(" < ", " >= ", " == ")
				+ expr("int") + ")" : "(" + expr("boolean") + pick(" && ", " || ", " ^ ")
				+ expr("boolean") + ")";
		case "char": return "(char) (" + expr("int") + " & 63 | 64)";
		case "byte": return "(byte) " + paren("int");
		case "short": return "(short) " + paren("int");
		case "int[]":
			return "new int[] {" + expr("int") + ", " + expr("int") + ", " + expr("int") + "}";
		default:
			return object();
		}
	}

	private String paren(String t) {
		return "(" + expr(t) + ")";
	}

	private String object() {
		switch (r.nextInt(7)) {
		case 0: return "new Box(" + expr("Object") + ", " + expr("int") + ")";
		case 1: return "new Sub(" + expr("String") + ", " + expr("long") + ").get("
			+ expr("int") + ")";
		case 2: return "(Object) (" + expr("int") + ")";
		case 3: return "id(" + expr("String") + ")";
		case 4: {
			String v = "z" + vars++;
			String c = constant("double");
			return "((F) (a" + v + ", o" + v + ", d" + v + ") -> id(o" + v + " + \"\" + (d" + v
				+ " + a" + v + ") + id(" + c + "))).ap(" + expr("int") + ", "
				+ expr("Object") + ", " + expr("double") + ")";
		}
		case 5: return "Arrays.asList(" + expr("int") + ", " + expr("String") + ").toString()";
		default: return "new Box(new Box(" + expr("long") + ", " + expr("int") + "), "
			+ expr("int") + ").get(" + expr("int") + ")";
		}
	}

	private String pick(String... s) {
		return s[r.nextInt(s.length)];
	}
}
