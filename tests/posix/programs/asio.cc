// SPDX-License-Identifier: Apache-2.0
// asio.cc - Asio: one io_context that eight threads run, with an echo server, clients that block,
// timers, a strand and a thread pool.
#include <atomic>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <asio.hpp>

using asio::ip::tcp;

struct Session : std::enable_shared_from_this<Session> {
	tcp::socket socket;
	char data[1000];

	explicit Session(tcp::socket s) : socket(std::move(s)) {}

	void read()
	{
		socket.async_read_some(
		    asio::buffer(data),
		    [self = shared_from_this()](std::error_code e, size_t n) {
			    if (!e)
				    self->write(n);
		    });
	}

	void write(size_t n)
	{
		asio::async_write(
		    socket, asio::buffer(data, n),
		    [self = shared_from_this()](std::error_code e, size_t) {
			    if (!e)
				    self->read();
		    });
	}
};

static void accept(tcp::acceptor &acceptor)
{
	acceptor.async_accept([&](std::error_code e, tcp::socket s) {
		if (e)
			return;
		std::make_shared<Session>(std::move(s))->read();
		accept(acceptor);
	});
}

static long ask(tcp::endpoint where, int k)
{
	asio::io_context own;
	tcp::socket s(own);
	long sum = 0;

	s.connect(where);
	for (int i = 0; i < 50; i++) {
		std::string sent(100 + k * 10 + i, static_cast<char>('a' + i % 26)),
		    got;
		asio::write(s, asio::buffer(sent));
		asio::read(s, asio::dynamic_buffer(got),
			   asio::transfer_exactly(sent.size()));
		sum += got == sent;
	}
	return sum;
}

// A chain of timers in a strand: the count needs no lock.
static void tick(asio::steady_timer &timer, int &count)
{
	timer.expires_after(std::chrono::microseconds(200));
	timer.async_wait([&](std::error_code e) {
		if (!e && ++count < 100)
			tick(timer, count);
	});
}

int main()
{
	asio::io_context context(8);
	tcp::acceptor acceptor(context, { asio::ip::address_v4::loopback(), 0 });
	tcp::endpoint where = acceptor.local_endpoint();
	auto work = asio::make_work_guard(context);
	auto strand = asio::make_strand(context);
	std::vector<std::thread> threads;
	std::atomic<long> echoed{ 0 }, posted{ 0 };
	int ticks[2] = {}, in_strand = 0;

	accept(acceptor);
	asio::steady_timer one(asio::make_strand(context)),
	    two(asio::make_strand(context));
	tick(one, ticks[0]);
	tick(two, ticks[1]);
	for (int i = 0; i < 8; i++)
		threads.emplace_back([&] { context.run(); });
	{
		asio::thread_pool pool(20);
		for (int k = 0; k < 40; k++)
			asio::post(pool, [&, k] { echoed += ask(where, k); });
		for (int i = 0; i < 10000; i++) {
			asio::post(context, [&] { posted++; });
			asio::post(strand, [&] { in_strand++; });
		}
		pool.join();
	}
	asio::post(context, [&] { acceptor.close(); });
	work.reset();
	for (auto &t : threads)
		t.join();
	std::cout << echoed << " " << posted << " " << in_strand << " " << ticks[0]
		  << " " << ticks[1] << "\n";
}
