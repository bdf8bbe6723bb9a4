/* SPDX-License-Identifier: Apache-2.0 */
/* C++: an echo server in plain blocking style, one user thread for each connection, and
 * a hundred clients in the same process. Errors, deadlines and the end of the server
 * are exceptions. */
#include <arpa/inet.h>
#include <chrono>
#include <functional>
#include <iostream>
#include <string>
#include <uk/uk.hpp>
#include <vector>

using namespace std::chrono_literals;

constexpr int CLIENTS = 100;

static void serve(uk::fd peer)
{
	uk::deadline_scope whole_connection(30s);
	char buf[256];

	try {
		while (std::size_t n = peer.recv(buf, sizeof(buf)))
			peer.write_all(buf, n);
	} catch (const std::system_error &e) {
		std::cerr << e.what() << '\n';
	}
}

static void accept_them(std::stop_token stop, const uk::fd &listener)
{
	uk::cancel_on_stop end(stop);

	try {
		for (;;)
			uk::thread(serve, listener.accept()).detach();
	} catch (const std::system_error &e) {
		if (e.code() != std::errc::operation_canceled)
			throw;
	}
}

static void ask(int number, const sockaddr_in &address, uk::chan<std::string> &replies)
{
	uk::fd s(uk_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	std::string text = "client " + std::to_string(number), reply(text.size(), ' ');

	s.connect(reinterpret_cast<const sockaddr *>(&address), sizeof(address));
	s.write_all(text.data(), text.size());
	s.read_all(reply.data(), reply.size());
	if (reply == text)
		replies.send(std::move(reply));
}

int main()
{
	uk::fd listener(uk_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	sockaddr_in address{};
	auto *any = reinterpret_cast<sockaddr *>(&address);
	socklen_t len = sizeof(address);

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener.get(), any, len) || listen(listener.get(), CLIENTS) ||
	    getsockname(listener.get(), any, &len))
		return 1;

	uk::thread server(accept_them, std::cref(listener));
	uk::chan<std::string> replies(CLIENTS);
	std::vector<uk::thread> clients;
	int right = 0;

	for (int i = 0; i < CLIENTS; i++)
		clients.emplace_back(ask, i, std::cref(address), std::ref(replies));
	clients.clear(); /* joins them */
	replies.close();
	for (const std::string &reply : replies)
		right += reply.starts_with("client ");
	std::cout << right << " of " << CLIENTS << " clients got back what they sent\n";
} /* the server's destructor requests the stop that ends accept() */
