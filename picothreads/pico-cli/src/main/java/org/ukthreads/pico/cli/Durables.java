// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.ServiceLoader;
import org.ukthreads.pico.Freezer;
import org.ukthreads.pico.durable.Codec;
import org.ukthreads.pico.durable.DurableException;
import org.ukthreads.pico.durable.FileStore;
import org.ukthreads.pico.durable.Filter;
import org.ukthreads.pico.durable.Inspector;
import org.ukthreads.pico.durable.JdbcStore;
import org.ukthreads.pico.durable.Parked;
import org.ukthreads.pico.durable.Seal;
import org.ukthreads.pico.durable.Status;
import org.ukthreads.pico.durable.Store;
import org.ukthreads.pico.durable.Vault;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;
import org.ukthreads.pico.translate.read.Nested;

/** pico durable: shows a store of durable threads, and acts on single threads. */
final class Durables {
	static final String USAGE = String.join("\n",
		"pico durable ls STORE                     lists its threads",
		"pico durable show STORE ID [-cp PROGRAM]  shows a thread; with -cp, its frames too",
		"pico durable cancel STORE ID --key FILE   interrupts a thread",
		"pico durable resume STORE ID --key FILE   retries a failed or refused thread",
		"pico durable drop STORE ID --key FILE     deletes messages that no key in FILE opens",
		"pico durable check OLD NEW STORE          exits with 1 if NEW would refuse a thread",
		"",
		"STORE is a folder or a JDBC URL; OLD, NEW and PROGRAM are class paths.",
		"  --table NAME    the table in the database (default: threads)",
		"  --driver PATH   the class path of the JDBC driver",
		"  --key FILE      the vault's key; ls, show and check verify nothing without it", "");

	private final List<String> rest = new ArrayList<>();
	private String table = "threads";
	private String key;
	private String program;
	private final List<Path> driver = new ArrayList<>();

	private Durables(List<String> args) {
		for (int k = 0; k < args.size(); k++) {
			String x = args.get(k);
			if (!x.startsWith("-")) {
				rest.add(x);
				continue;
			}
			if (k + 1 == args.size())
				Main.fail(x + " needs a value");
			String v = args.get(++k);
			switch (x) {
			case "--table": table = v; break;
			case "--key": key = v; break;
			case "-cp": program = v; break;
			case "--driver": driver.addAll(path(v)); break;
			default: Main.fail("no such option: " + x + "\n" + USAGE);
			}
		}
	}

	static void run(List<String> args) throws Exception {
		if (args.isEmpty() || args.get(0).matches("-h|--help|help")) {
			System.out.print(USAGE);
			return;
		}
		Durables d = new Durables(args.subList(1, args.size()));
		try {
			d.command(args.get(0));
		} catch (DurableException e) {
			Main.fail(e.getMessage());
		} catch (SQLException e) {
			Main.fail(e.toString());
		}
	}

	private void command(String what) throws Exception {
		switch (what) {
		case "ls":
			need(1);
			try (Store s = store(rest.get(0), true)) {
				list(new Inspector(s, seal()));
			}
			break;
		case "show":
			need(2);
			try (Store s = store(rest.get(0), true)) {
				show(new Inspector(s, seal()), rest.get(1));
			}
			break;
		case "cancel": case "resume": case "drop":
			need(2);
			if (key == null)
				Main.fail("--key FILE is needed, with the vault's key");
			tell(what, rest.get(1));
			break;
		case "check":
			need(3);
			try (Store s = store(rest.get(2), true)) {
				if (check(new Inspector(s, seal())))
					System.exit(1);
			}
			break;
		default:
			Main.fail("unknown command: durable " + what + "\n" + USAGE);
		}
	}

	/** Acts on a thread. Fails if the key is another one: the thread's vault would reject us. */
	private void tell(String what, String id) throws Exception {
		try (Store s = store(rest.get(0), false)) {
			Seal seal = seal();
			Status is = new Inspector(s, seal).status(id);
			if (is == null)
				Main.fail("there is no thread " + id);
			if (is.state.equals("ended"))
				Main.fail("the thread " + id + " has ended");
			if (!is.refused.isEmpty())
				Main.fail(is.refused);
			if (what.equals("resume"))
				for (String why : new Inspector(s, seal).unreadable(id).values())
					Main.fail(why + "\nThe thread would be refused again; pico durable drop deletes"
						+ " such messages");
			try (Vault v = new Vault(s, seal,
					new Codec(Main.class.getClassLoader(), Filter.PROGRAM))) {
				tell(v, what, id);
			}
		}
	}

	private static void tell(Vault v, String what, String id) throws IOException {
		switch (what) {
		case "cancel": v.cancel(id); break;
		case "resume": v.retry(id); break;
		default: System.out.println("messages deleted: " + v.discard(id));
		}
	}

	private void need(int n) {
		if (rest.size() != n)
			Main.fail(USAGE);
	}

	private static List<Path> path(String s) {
		List<Path> l = new ArrayList<>();
		for (String p : s.split(java.io.File.pathSeparator))
			l.add(Paths.get(p));
		return l;
	}

	private Seal seal() throws IOException {
		if (key == null)
			return null;
		if (!Files.isRegularFile(Paths.get(key)))
			Main.fail((Files.exists(Paths.get(key)) ? "not a key file: " : "no such file: ")
				+ key);
		return Seal.file(Paths.get(key));
	}

	private Store store(String name, boolean looks) throws Exception {
		if (!name.startsWith("jdbc:"))
			return open(Paths.get(name), looks);
		List<URL> urls = new ArrayList<>();
		for (Path p : driver)
			urls.add(p.toUri().toURL());
		ClassLoader l = new URLClassLoader(urls.toArray(new URL[0]),
			Main.class.getClassLoader());
		for (Driver d : ServiceLoader.load(Driver.class, l)) {
			Connection c = d.connect(name, new Properties());
			if (c != null)
				return new JdbcStore(c, table);
		}
		Main.fail("no JDBC driver for " + name + "; use --driver PATH");
		return null;
	}

	/**
	 * Opens a store in a folder. A folder without a lock file and without threads is not a store,
	 * and is refused.
	 */
	private static Store open(Path dir, boolean looks) throws IOException {
		if (!Files.isDirectory(dir))
			Main.fail((Files.exists(dir) ? "not a folder: " : "no such folder: ") + dir);
		Store s = FileStore.reader(dir);
		if (!Files.exists(dir.resolve("lock")) && s.keys().isEmpty())
			Main.fail("not a store of durable threads: " + dir);
		return looks ? s : new FileStore(dir);
	}

	private static String until(long millis) {
		return millis == Long.MAX_VALUE ? "-" : Instant.ofEpochMilli(millis).toString();
	}

	private static void list(Inspector in) throws IOException {
		System.out.printf("%-32s %-8s %-8s %-24s %6s %8s %7s%n", "id", "state", "waits",
			"until", "steps", "messages", "bytes");
		String after = "";
		for (;;) {
			List<Status> l = in.list(after, 500);
			if (l.isEmpty())
				return;
			for (Status s : l) {
				System.out.printf("%-32s %-8s %-8s %-24s %6d %8d %7d%s%n", s.id, s.state,
					s.waits, until(s.until), s.steps, s.messages, s.bytes,
					s.why.isEmpty() && s.refused.isEmpty() ? "" : "  "
						+ (s.refused.isEmpty() ? s.why : "refused: " + s.refused));
				after = s.id;
			}
		}
	}

	private void show(Inspector in, String id) throws Exception {
		Status s = in.status(id);
		if (s == null)
			Main.fail("there is no thread " + id);
		boolean ended = s.state.equals("ended");
		System.out.println("id        " + s.id + "\nstate     " + s.state
			+ (s.worker == 0 ? "" : ", worker " + s.worker)
			+ (ended ? "\nended     " : "\nwaits in  " + s.waits + "\nuntil     ") + until(s.until) + "\nsteps     " + s.steps + "\nmessages  "
			+ s.messages + "\nbytes     " + s.bytes + (s.why.isEmpty() ? "" : "\nfailed    "
			+ s.why) + (s.refused.isEmpty() ? "" : "\nrefused   " + s.refused));
		if (s.refused.isEmpty())
			for (String why : in.unreadable(id).values())
				System.out.println("refused   " + why);
		if (program == null || ended)
			return;
		Parked p = in.look(id, codec(program));
		System.out.println("release   " + p.release + "\nexposes   " + p.exposed);
		for (Freezer.Looked f : p.frames)
			System.out.println("    at " + f.owner + "." + f.name + (f.refused == null ? ""
				: "   refused: " + f.refused.getMessage()));
	}

	/**
	 * Translates the program in memory. The codec is for inspection only, so external objects may
	 * be absent.
	 */
	private static Codec codec(String path) throws IOException {
		List<Path> in = Nested.unfold(ClassPath.whole(path(path)));
		for (Path p : path(path))
			if (!Files.exists(p))
				Main.fail("no such file: " + p);
		ClassPath program = new ClassPath(in);
		return Inspector.looking(new Codec(new PicoLoader(Translator.of(program,
			Main.libraries(List.of()), new Translator.Options()).run(), program,
			Main.class.getClassLoader()), Filter.PROGRAM));
	}

	/** Returns true if the new program refuses a thread that the old one accepts. */
	private boolean check(Inspector in) throws Exception {
		List<Inspector.Verdict> old = in.check(codec(rest.get(0)));
		List<Inspector.Verdict> fresh = in.check(codec(rest.get(1)));
		java.util.Map<String, String> before = new java.util.HashMap<>();
		for (Inspector.Verdict v : old)
			before.put(v.id, v.refusal);
		int refused = 0;
		int already = 0;
		for (Inspector.Verdict v : fresh)
			if (v.refusal != null) {
				boolean was = before.get(v.id) != null;
				System.out.println(v.id + ": " + v.refusal
					+ (was ? " (the old program refuses it, too)" : ""));
				refused += was ? 0 : 1;
				already += was ? 1 : 0;
			}
		System.out.println(fresh.size() + " threads: " + (fresh.size() - refused - already)
			+ " continue, " + refused + " would be refused"
			+ (already == 0 ? "" : ", " + already + " are refused already"));
		return refused > 0;
	}
}
