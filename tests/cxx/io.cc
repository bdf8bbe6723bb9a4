/* SPDX-License-Identifier: Apache-2.0 */
/* uk::fd: ownership, transfers and errors. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <string>
#include <unistd.h>

#include "bed.hpp"

static_assert(std::movable<uk::fd> && !std::copyable<uk::fd>);
static_assert(std::is_nothrow_move_constructible_v<uk::fd>);

static bool is_open(int n)
{
	return fcntl(n, F_GETFD) >= 0;
}

static std::pair<uk::fd, uk::fd> pair()
{
	int two[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, two), 0);
	return { uk::fd(two[0]), uk::fd(two[1]) };
}

static void an_fd_has_one_owner()
{
	auto [a, b] = pair();
	int na = a.get(), nb = b.get();
	uk::fd none;

	CHECK(a && !none && none.get() < 0);
	uk::fd c(std::move(a));
	CHECK(!a && c.get() == na);
	c = std::move(b); /* closes the one before */
	CHECK(!is_open(na) && is_open(nb) && !b);
	uk::fd &same = c;
	c = std::move(same);
	CHECK_EQ(c.get(), nb);
	{
		uk::fd scope(c.release());
	}
	CHECK(!is_open(nb) && !c);
	CHECK(throws(std::errc::bad_file_descriptor, [&] { c.close(); }));
	CHECK(throws(std::errc::no_such_file_or_directory,
		     [] { uk::fd f(uk_open("/no/such/file", O_RDONLY, 0)); }));
}

static void transfers_are_counted_and_errors_are_thrown()
{
	on_both([] {
		auto [a, b] = pair();
		char buf[16] = "";

		a.write_all("hello", 5);
		CHECK_EQ(b.read_all(buf, 5), 5);
		CHECK(std::string(buf) == "hello");
		CHECK_EQ(a.write("x", 1), 1);
		CHECK_EQ(b.read(buf, 1), 1);
		CHECK_EQ(b.send("y", 1), 1);
		CHECK_EQ(a.recv(buf, sizeof(buf)), 1);
		CHECK(throws(std::errc::timed_out, [&a = a, &buf] {
			uk::deadline_scope soon(1ms);
			a.recv(buf, sizeof(buf));
		}));
		CHECK(throws(std::errc::resource_unavailable_try_again, [&a = a, &buf] {
			a.recv(buf, sizeof(buf), MSG_DONTWAIT);
		}));
		b.close();
		CHECK_EQ(a.read_all(buf, sizeof(buf)), 0);
		CHECK(throws(std::errc::broken_pipe, [&a = a] { a.send("z", 1); }));
		CHECK(
		    throws(std::errc::broken_pipe, [&a = a] { a.write_all("z", 1); }));
	});
}

static void connections_are_accepted()
{
	sockaddr_in address{};
	socklen_t len = sizeof(address);
	auto *any = reinterpret_cast<sockaddr *>(&address);
	uk::fd listener(uk_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_EQ(bind(listener.get(), any, len), 0);
	CHECK_EQ(listen(listener.get(), 10), 0);
	CHECK_EQ(getsockname(listener.get(), any, &len), 0);
	uk::thread server([&](std::stop_token stop) {
		uk::cancel_on_stop end(stop);

		CHECK(throws(std::errc::operation_canceled, [&] {
			for (;;)
				listener.accept().write_all("welcome", 7);
		}));
	});
	for (int i = 0; i < 10; i++) {
		uk::fd s(uk_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
		char buf[16];

		s.connect(any, len);
		CHECK_EQ(s.read_all(buf, sizeof(buf)), 7);
	}
}

int main()
{
	RUN(an_fd_has_one_owner);
	RUN(transfers_are_counted_and_errors_are_thrown);
	RUN(connections_are_accepted);
	return 0;
}
