// SPDX-License-Identifier: Apache-2.0
import dev.restate.sdk.Context;
import dev.restate.sdk.annotation.Handler;
import dev.restate.sdk.annotation.Service;
import dev.restate.sdk.endpoint.Endpoint;
import dev.restate.sdk.http.vertx.RestateHttpServer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Runs handlers of many journaled steps on a Restate server, which stores each step on disk.
 * Arguments: handlers, steps, the server's ports for programs and for its administration.
 */
public final class Steps {
	@Service
	public static class Flow {
		@Handler
		public long run(Context c, int steps) {
			long sum = 0;
			for (int k = 0; k < steps; k++) {
				long s = sum;
				int n = k;
				sum = c.run("step", Long.class, () -> s * 31 + n);
			}
			return sum;
		}
	}

	private static final HttpClient CLIENT = HttpClient.newHttpClient();

	private Steps() {}

	private static CompletableFuture<HttpResponse<String>> post(String url, String body) {
		return CLIENT.sendAsync(HttpRequest.newBuilder(URI.create(url))
			.header("content-type", "application/json").POST(BodyPublishers.ofString(body)).build(),
			BodyHandlers.ofString());
	}

	private static void round(String in, int threads, int steps) {
		List<CompletableFuture<HttpResponse<String>>> all = new ArrayList<>();
		for (int k = 0; k < threads; k++)
			all.add(post(in + "/StepsFlow/run", "" + steps));
		for (CompletableFuture<HttpResponse<String>> f : all)
			check(f.join());
	}

	/** The program's server keeps the JVM alive, so an error must end it. */
	private static void check(HttpResponse<String> r) {
		if (r.statusCode() / 100 != 2) {
			System.err.println(r + " " + r.body());
			System.exit(1);
		}
	}

	public static void main(String[] args) {
		int threads = Integer.parseInt(args[0]);
		int steps = Integer.parseInt(args[1]);
		String in = "http://127.0.0.1:" + args[2];
		int port = RestateHttpServer.listen(Endpoint.bind(new Flow()), 0);
		check(post("http://127.0.0.1:" + args[3] + "/deployments",
			"{\"uri\":\"http://127.0.0.1:" + port + "\"}").join());
		round(in, 10, 20);
		long start = System.nanoTime();
		round(in, threads, steps);
		double s = (System.nanoTime() - start) / 1e9;
		System.out.println("{\"bench\":\"restate-server\",\"on\":\"disk\",\"steps\":"
			+ threads * steps + ",\"steps_per_s\":" + Math.round(threads * steps / s) + "}");
		System.exit(0);
	}
}
