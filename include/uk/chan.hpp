/* SPDX-License-Identifier: Apache-2.0 */
/* chan.hpp - bounded channels of movable elements for C++, with select. uk.hpp has the
 * conventions. */
#ifndef UK_CHAN_HPP
#define UK_CHAN_HPP

#include <uk/base.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <uk/chan.h>

namespace uk
{

/* timeout: the call would have to wait, or longer than it may. */
enum class chan_status { ok, closed, timeout };

namespace detail
{

/* How an element travels in a uk_chan, which copies bytes: as it is, if that is a copy
 * of the element, otherwise as a pointer to it on the heap. */
template <class T> inline constexpr bool by_bytes = std::is_trivially_copyable_v<T>;

/* A parameter for an element that is moved only if it is sent. */
template <class T> using given = std::conditional_t<by_bytes<T>, const T &, T &&>;

/* An element on its way out. Unless it was sent, it goes back to where it came from. */
template <class T> class outgoing
{
public:
	explicit outgoing(given<T> from) : home(const_cast<T *>(std::addressof(from)))
	{
		if constexpr (!by_bytes<T>)
			raw = new T(std::move(from));
	}
	~outgoing()
	{
		if constexpr (!by_bytes<T>)
			if (raw) {
				*home = std::move(*raw);
				delete raw;
			}
	}
	outgoing(const outgoing &) = delete;
	outgoing &operator=(const outgoing &) = delete;
	void *elem() noexcept
	{
		if constexpr (by_bytes<T>)
			return home;
		else
			return &raw;
	}
	void sent() noexcept
	{
		raw = nullptr;
	}

private:
	T *home;
	T *raw = nullptr;
};

/* Where an element arrives. */
template <class T> class incoming
{
public:
	void *elem() noexcept
	{
		return space;
	}
	/* Once, after it has arrived. */
	T take()
	{
		if constexpr (by_bytes<T>) {
			return std::move(*std::launder(reinterpret_cast<T *>(space)));
		} else {
			std::unique_ptr<T> here(
			    *std::launder(reinterpret_cast<T **>(space)));

			return std::move(*here);
		}
	}

private:
	using content = std::conditional_t<by_bytes<T>, T, T *>;
	alignas(content) std::byte space[sizeof(content)];
};

} // namespace detail

/* A bounded channel; capacity 0: a send ends when a receiver has the element. Elements
 * are moved. Those that are left are destroyed with the channel. */
template <std::movable T> class chan
{
	using given = detail::given<T>;

public:
	explicit chan(std::size_t capacity = 0)
	{
		using content = std::conditional_t<detail::by_bytes<T>, T, T *>;

		detail::check(uk_chan_create(&c, sizeof(content), capacity),
			      "uk::chan");
	}
	/* No other thread may use the channel any more. */
	~chan()
	{
		if constexpr (!detail::by_bytes<T>)
			for (T *raw; uk_chan_tryrecv(c, &raw) == 0;)
				delete raw;
		uk_chan_destroy(c);
	}
	chan(const chan &) = delete;
	chan &operator=(const chan &) = delete;

	/* From now on nothing can be sent. False: it was closed before. */
	bool close() noexcept
	{
		return uk_chan_close(c) == 0;
	}
	/* How many elements it holds. */
	[[nodiscard]] std::size_t size() const noexcept
	{
		return uk_chan_len(c);
	}

	/* False: the channel is closed. */
	bool send(T v)
	{
		chan_status s = send_by(std::move(v), uk_chan_send);

		if (s == chan_status::timeout)
			detail::fail(-ETIMEDOUT, send_name);
		return s == chan_status::ok;
	}
	/* v is moved only if it is sent. */
	chan_status try_send(given v)
	{
		return send_by(static_cast<given>(v), uk_chan_trysend);
	}
	template <class Rep, class Period>
	chan_status send_for(given v, const std::chrono::duration<Rep, Period> &d)
	{
		return send_until(static_cast<given>(v), detail::after(d));
	}
	template <class Clock, class Duration>
	chan_status send_until(given v,
			       const std::chrono::time_point<Clock, Duration> &t)
	{
		return send_by(static_cast<given>(v), [&t](uk_chan *to, void *elem) {
			return detail::until(t, send_name, [=](uk_time deadline) {
				return uk_chan_send_until(to, elem, deadline);
			});
		});
	}

	/* Nothing: the channel is closed, and empty. */
	std::optional<T> recv()
	{
		std::optional<T> v;

		if (recv_by(v, uk_chan_recv) == chan_status::timeout)
			detail::fail(-ETIMEDOUT, recv_name);
		return v;
	}
	/* v is empty unless the result is ok. */
	chan_status try_recv(std::optional<T> &v)
	{
		return recv_by(v, uk_chan_tryrecv);
	}
	template <class Rep, class Period>
	chan_status recv_for(std::optional<T> &v,
			     const std::chrono::duration<Rep, Period> &d)
	{
		return recv_until(v, detail::after(d));
	}
	template <class Clock, class Duration>
	chan_status recv_until(std::optional<T> &v,
			       const std::chrono::time_point<Clock, Duration> &t)
	{
		return recv_by(v, [&t](uk_chan *from, void *elem) {
			return detail::until(t, recv_name, [=](uk_time deadline) {
				return uk_chan_recv_until(from, elem, deadline);
			});
		});
	}

	/* for (T &v : channel): receives until it is closed. */
	class iterator
	{
	public:
		using value_type = T;
		using difference_type = std::ptrdiff_t;

		iterator() = default;
		T &operator*() const noexcept
		{
			return *v;
		}
		iterator &operator++()
		{
			v = from->recv();
			return *this;
		}
		void operator++(int)
		{
			++*this;
		}
		friend bool operator==(const iterator &i,
				       std::default_sentinel_t) noexcept
		{
			return !i.v;
		}

	private:
		friend class chan;
		explicit iterator(chan *c) : from(c), v(c->recv()) {}
		chan *from = nullptr;
		mutable std::optional<T> v;
	};
	iterator begin()
	{
		return iterator(this);
	}
	std::default_sentinel_t end() noexcept
	{
		return {};
	}

	/* Cases of select(), made as its arguments. */
	template <std::invocable<std::optional<T>> F> class recv_case
	{
	public:
		recv_case(uk_chan *c, F f) : from(c), then(std::move(f)) {}
		uk_chan_case entry() noexcept
		{
			return { from, UK_CHAN_RECV, 0, in.elem() };
		}
		void done(int result)
		{
			std::optional<T> v;

			if (result == 0)
				v.emplace(in.take());
			std::invoke(then, std::move(v));
		}

	private:
		uk_chan *from;
		F then;
		detail::incoming<T> in;
	};
	template <std::invocable<bool> F> class send_case
	{
	public:
		send_case(uk_chan *c, given v, F f)
		    : to(c), then(std::move(f)), out(static_cast<given>(v))
		{
		}
		uk_chan_case entry() noexcept
		{
			return { to, UK_CHAN_SEND, 0, out.elem() };
		}
		void done(int result)
		{
			if (result == 0)
				out.sent();
			std::invoke(then, result == 0);
		}

	private:
		uk_chan *to;
		F then;
		detail::outgoing<T> out;
	};
	/* f(std::optional<T>): what came; nothing: the channel is closed. */
	template <std::invocable<std::optional<T>> F> recv_case<F> on_recv(F f)
	{
		return { c, std::move(f) };
	}
	auto on_recv(std::optional<T> &v)
	{
		return on_recv([&v](std::optional<T> got) { v = std::move(got); });
	}
	/* f(bool): whether v was sent; false: the channel is closed. v is moved only if
	 * it is sent. */
	template <std::invocable<bool> F> send_case<F> on_send(given v, F f)
	{
		return { c, static_cast<given>(v), std::move(f) };
	}
	auto on_send(given v)
	{
		return on_send(static_cast<given>(v), [](bool) {});
	}

private:
	static constexpr const char *send_name = "uk::chan::send";
	static constexpr const char *recv_name = "uk::chan::recv";

	static chan_status status(int r, const char *what)
	{
		if (r == -EPIPE)
			return chan_status::closed;
		if (r == -EAGAIN || r == -ETIMEDOUT)
			return chan_status::timeout;
		detail::check(r, what);
		return chan_status::ok;
	}
	template <class F> chan_status send_by(given v, F f)
	{
		detail::outgoing<T> out(static_cast<given>(v));
		chan_status s = status(f(c, out.elem()), send_name);

		if (s == chan_status::ok)
			out.sent();
		return s;
	}
	template <class F> chan_status recv_by(std::optional<T> &v, F f)
	{
		detail::incoming<T> in;

		v.reset();
		chan_status s = status(f(c, in.elem()), recv_name);
		if (s == chan_status::ok)
			v.emplace(in.take());
		return s;
	}

	uk_chan *c;
};

namespace detail
{

/* What the performed case's index is, and its handler called; -ETIMEDOUT: none. */
template <class... Case> int select_at(uk_time deadline, Case &...cases)
{
	uk_chan_case entries[] = { cases.entry()... };
	int chosen = uk_chan_select(entries, sizeof...(cases), deadline), i = 0;

	((i++ == chosen ? cases.done(entries[chosen].result) : void()), ...);
	return chosen;
}

} // namespace detail

/* Wait until one of the cases can be performed, perform it, call its handler: the index
 * of the case. A case of a closed channel can be performed. */
template <class... Case> std::size_t select(Case &&...cases)
{
	return static_cast<std::size_t>(
	    detail::check(detail::select_at(UK_FOREVER, cases...), "uk::select"));
}
/* The same until t; nothing: no case was performed. */
template <class Clock, class Duration, class... Case>
std::optional<std::size_t>
select_until(const std::chrono::time_point<Clock, Duration> &t, Case &&...cases)
{
	int r = detail::until(t, "uk::select", [&](uk_time deadline) {
		return detail::select_at(deadline, cases...);
	});

	if (r == -ETIMEDOUT)
		return {};
	return static_cast<std::size_t>(detail::check(r, "uk::select"));
}
template <class Rep, class Period, class... Case>
std::optional<std::size_t> select_for(const std::chrono::duration<Rep, Period> &d,
				      Case &&...cases)
{
	return select_until(detail::after(d), cases...);
}
template <class... Case> std::optional<std::size_t> try_select(Case &&...cases)
{
	return select_until(std::chrono::steady_clock::time_point(), cases...);
}

} // namespace uk

#endif
