/* SPDX-License-Identifier: Apache-2.0 */
/* io.hpp - file descriptors for C++. uk.hpp has the conventions. */
#ifndef UK_IO_HPP
#define UK_IO_HPP

#include <uk/base.hpp>

#include <cstddef>
#include <utility>

#include <uk/io.h>

namespace uk
{

/* Owns a file descriptor. The calls are those of uk/io.h, with exceptions. */
class fd
{
public:
	fd() noexcept = default;
	/* The result of uk_socket, uk_open and so on; an error is thrown. */
	explicit fd(int result, const char *what = "uk::fd")
	    : n(detail::check(result, what))
	{
	}
	~fd()
	{
		if (n >= 0)
			uk_close(n);
	}
	fd(fd &&o) noexcept : n(o.release()) {}
	fd &operator=(fd &&o) noexcept
	{
		fd from(std::move(o));

		std::swap(n, from.n);
		return *this;
	}

	[[nodiscard]] int get() const noexcept
	{
		return n;
	}
	explicit operator bool() const noexcept
	{
		return n >= 0;
	}
	int release() noexcept
	{
		return std::exchange(n, -1);
	}
	/* Throws what the destructor ignores. */
	void close()
	{
		detail::check(uk_close(release()), "uk::fd::close");
	}

	/* 0: the end of the file */
	std::size_t read(void *buf, std::size_t size) const
	{
		return count(uk_read(n, buf, size), "uk::fd::read");
	}
	std::size_t write(const void *buf, std::size_t size) const
	{
		return count(uk_write(n, buf, size), "uk::fd::write");
	}
	/* Less than size only at the end of the file. */
	std::size_t read_all(void *buf, std::size_t size) const
	{
		return count(uk_read_all(n, buf, size), "uk::fd::read_all");
	}
	void write_all(const void *buf, std::size_t size) const
	{
		detail::check(uk_write_all(n, buf, size), "uk::fd::write_all");
	}
	std::size_t recv(void *buf, std::size_t size, int flags = 0) const
	{
		return count(uk_recv(n, buf, size, flags), "uk::fd::recv");
	}
	std::size_t send(const void *buf, std::size_t size,
			 int flags = MSG_NOSIGNAL) const
	{
		return count(uk_send(n, buf, size, flags), "uk::fd::send");
	}
	[[nodiscard]] fd accept(sockaddr *addr = nullptr, socklen_t *len = nullptr,
				int flags = SOCK_CLOEXEC) const
	{
		return fd(uk_accept4(n, addr, len, flags), "uk::fd::accept");
	}
	void connect(const sockaddr *addr, socklen_t len) const
	{
		detail::check(uk_connect(n, addr, len), "uk::fd::connect");
	}

private:
	static std::size_t count(ssize_t r, const char *what)
	{
		return static_cast<std::size_t>(detail::check(r, what));
	}

	int n = -1;
};

} // namespace uk

#endif
