// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.nio.file.Files;
import java.nio.file.Path;
import org.ukthreads.fixtures.durable.Parts;
import org.ukthreads.pico.Continuation;
import org.ukthreads.pico.translate.PicoLoader;

/** Measures what it costs to save and to load a thread of twelve frames. */
final class Cost {
	private Cost() {}

	public static void main(String[] args) throws Exception {
		Path dir = Files.createTempDirectory("cost");
		Children.copy(dir, Parts.class);
		PicoLoader l = new PicoLoader(Children.translate(dir), Children.NOTHING,
			Cost.class.getClassLoader());
		Continuation k = new Continuation((Runnable) l.loadClass(Parts.Deep.class.getName())
			.getConstructor().newInstance());
		k.run();
		Codec c = new Codec(l, Filter.PROGRAM);
		Seal seal = new Seal(new byte[16]);
		byte[] b = c.save(k);
		long[] best = {Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE};
		int n = 2_000;
		for (int round = 0; round < 30; round++) {
			long t0 = System.nanoTime();
			for (int x = 0; x < n; x++)
				b = c.save(k);
			long t1 = System.nanoTime();
			for (int x = 0; x < n; x++) {
				Bytes s = new Bytes(b.clone(), 0);
				s.n = b.length;
				seal.close("t/x", s);
			}
			long t2 = System.nanoTime();
			for (int x = 0; x < n; x++)
				c.load(b);
			long t3 = System.nanoTime();
			best[0] = Math.min(best[0], (t1 - t0) / n);
			best[1] = Math.min(best[1], (t2 - t1) / n);
			best[2] = Math.min(best[2], (t3 - t2) / n);
		}
		System.out.println("{\"system\":\"pico\",\"bench\":\"durable\",\"frames\":12,"
			+ "\"bytes\":" + (b.length + Seal.SIZE) + ",\"save_us\":" + best[0] / 1e3
			+ ",\"sign_us\":" + best[1] / 1e3 + ",\"load_us\":" + best[2] / 1e3 + "}");
	}
}
