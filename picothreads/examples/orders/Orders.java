// SPDX-License-Identifier: Apache-2.0
import java.io.Serializable;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.ukthreads.pico.durable.Codec;
import org.ukthreads.pico.durable.Durable;
import org.ukthreads.pico.durable.FileStore;
import org.ukthreads.pico.durable.Filter;
import org.ukthreads.pico.durable.Seal;
import org.ukthreads.pico.durable.Vault;

/*
 * An order takes weeks: pay, pack, ship, wait for a review. Here it is one method in plain
 * blocking Java, and its thread is stored wherever it waits. Kill the process at any moment
 * and start it again: every order continues in the line where it was.
 *
 *   cd picothreads/examples/orders
 *   javac -cp ../../pico-cli/target/pico.jar -d /tmp/orders Orders.java
 *   ../../bin/pico run -cp /tmp/orders Orders /tmp/orders/vault 2000
 *
 * The arguments are the folder for the orders, and the milliseconds that a day takes (default:
 * a real day).
 */
public final class Orders {
	static long day = Duration.ofDays(1).toMillis();

	static final class Order implements Runnable, Serializable {
		private static final long serialVersionUID = 1;
		private final String customer;
		private final List<String> items;

		Order(String customer, List<String> items) {
			this.customer = customer;
			this.items = items;
		}

		@Override
		public void run() {
			say("new, for " + customer + ": " + items);
			if (!paid()) {
				say("cancelled: never paid");
				return;
			}
			/* After a crash the same key is used again, so the bank charges only once. */
			say("charged, key " + Durable.key());
			Durable.commit();
			for (String item : items) {
				say("packing " + item);
				sleep(1);
			}
			say("shipped");
			sleep(14);
			say("two weeks later: how do you like your " + items.get(0) + "?");
		}

		/** Waits for the money. Sends three reminders, a day apart. */
		private boolean paid() {
			for (int reminder = 1; reminder <= 3; reminder++) {
				Object money = Durable.receive(Duration.ofMillis(day));
				if (money != null) {
					say("paid: " + money);
					return true;
				}
				say("reminder " + reminder);
			}
			return false;
		}

		private static void sleep(int days) {
			try {
				Thread.sleep(days * day);
			} catch (InterruptedException e) {
				throw new IllegalStateException(e);
			}
		}

		private void say(String what) {
			System.out.println(Durable.id() + ": " + what);
		}
	}

	public static void main(String[] args) throws Exception {
		Path dir = Paths.get(args[0]);
		if (args.length > 1)
			day = Long.parseLong(args[1]);
		Vault v = new Vault(new FileStore(dir), Seal.file(dir.resolve("key")),
			new Codec(Orders.class.getClassLoader(), Filter.PROGRAM)).sleepsFrom(day / 2);
		List<String> old = v.resume();
		if (old.isEmpty() && v.failed().isEmpty() && v.status("order-1") == null) {
			v.start("order-1", new Order("Ada", new ArrayList<>(List.of("lamp", "desk"))));
			v.start("order-2", new Order("Bob", new ArrayList<>(List.of("chair"))));
			v.send("order-1", "120 EUR");
		} else {
			System.out.println("resumed: " + old);
		}
		v.awaitAll(Long.MAX_VALUE / 2_000_000);
		v.close();
		System.exit(v.failed().isEmpty() ? 0 : 1);
	}
}
