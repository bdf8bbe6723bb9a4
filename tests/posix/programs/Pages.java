// SPDX-License-Identifier: Apache-2.0
/* Pages.java - HotSpot's HTTP server with a thread for each request: prints its port. */
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

class Pages {
	public static void main(String[] args) throws Exception {
		HttpServer s = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 256);

		s.createContext("/", x -> {
			byte[] page = x.getRequestURI().getPath().substring(1).repeat(3000).getBytes();

			x.sendResponseHeaders(200, page.length);
			x.getResponseBody().write(page);
			x.close();
		});
		s.setExecutor(Executors.newCachedThreadPool());
		s.start();
		System.out.println(s.getAddress().getPort());
	}
}
