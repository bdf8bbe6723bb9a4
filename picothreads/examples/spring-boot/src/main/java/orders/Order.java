// SPDX-License-Identifier: Apache-2.0
package orders;

import java.io.Serializable;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import org.ukthreads.pico.durable.Durable;

/** The life of an order: it books, waits for its payment for as long as that takes, and ships. */
final class Order implements Runnable, Serializable {
	private static final long serialVersionUID = 1;
	private final String[] items;

	Order(String[] items) {
		this.items = items;
	}

	@Override
	public void run() {
		book("ordered");
		book("paid " + Durable.receive());
		for (String item : items)
			book("shipped " + item);
	}

	/** In the transaction that stores this thread: both happen, once, or none. */
	private static void book(String what) {
		try {
			Durable.transaction(db -> {
				PreparedStatement s = db.prepareStatement("insert into booked values (?, ?)");
				s.setString(1, Durable.id());
				s.setString(2, what);
				return s.executeUpdate();
			});
		} catch (SQLException e) {
			throw new IllegalStateException(e);
		}
	}
}
