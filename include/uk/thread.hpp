/* SPDX-License-Identifier: Apache-2.0 */
/* thread.hpp - user threads for C++: uk::thread, uk::this_thread, deadlines. uk.hpp has
 * the conventions. */
#ifndef UK_THREAD_HPP
#define UK_THREAD_HPP

#include <uk/base.hpp>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

#include <pthread.h>

#include <uk/vp.h>

namespace uk
{

class thread;
struct thread_attr;

namespace detail
{

/* What a thread is to run; the first of parts is the function. */
template <class... P> struct call {
	std::tuple<P...> parts;

	template <class... From>
	explicit call(From &&...from) : parts(std::forward<From>(from)...)
	{
	}
	static void *run(void *self) noexcept
	{
		std::unique_ptr<call> c(static_cast<call *>(self));

		std::apply(
		    [](auto &&...p) { std::invoke(std::forward<decltype(p)>(p)...); },
		    std::move(c->parts));
		return nullptr;
	}
};

template <class F>
concept function = !std::same_as<std::remove_cvref_t<F>, thread> &&
		   !std::same_as<std::remove_cvref_t<F>, thread_attr>;

} // namespace detail

/* stack_size and the others are as in uk_thread_attr. There are no light threads: they
 * share the state of exceptions with other threads of their kernel thread. */
struct thread_attr {
	std::size_t stack_size = 0;
	uk_vpset *set = nullptr;
	uk_vp *vp = nullptr;
	const char *name = nullptr;
	std::size_t guard_size = 0;
};

/* std::jthread, as a user thread. */
class thread
{
public:
	using native_handle_type = uk_thread *;

	/* A user thread's prints as the number that dumps and gdb show. */
	class id
	{
	public:
		id() noexcept = default;
		friend bool operator==(id, id) noexcept = default;
		friend std::strong_ordering operator<=>(id, id) noexcept = default;
		template <class Char, class Traits>
		friend std::basic_ostream<Char, Traits> &
		operator<<(std::basic_ostream<Char, Traits> &out, id i)
		{
			if (!i.value)
				return out << "no thread";
			if (i.value & foreign)
				return out << "kernel thread " << (i.value & ~foreign);
			return out << i.value;
		}

	private:
		friend class thread;
		friend struct std::hash<id>;
		/* The other bits are the pthread_t of a foreign thread. */
		static constexpr std::uint64_t foreign = std::uint64_t{ 1 } << 63;
		explicit id(std::uint64_t v) noexcept : value(v) {}
		std::uint64_t value = 0;
	};

	thread() noexcept : stop(std::nostopstate) {}
	template <detail::function F, class... A>
	explicit thread(F &&f, A &&...a)
	    : thread(thread_attr(), std::forward<F>(f), std::forward<A>(a)...)
	{
	}
	template <class F, class... A>
	explicit thread(const thread_attr &attr, F &&f, A &&...a)
	{
		if constexpr (std::is_invocable_v<std::decay_t<F>, std::stop_token,
						  std::decay_t<A>...>) {
			start(attr, std::forward<F>(f), stop.get_token(),
			      std::forward<A>(a)...);
		} else {
			static_assert(
			    std::is_invocable_v<std::decay_t<F>, std::decay_t<A>...>,
			    "the function cannot be called with these arguments");
			start(attr, std::forward<F>(f), std::forward<A>(a)...);
		}
	}
	~thread()
	{
		end();
	}
	thread(thread &&o) noexcept : stop(std::move(o.stop)), t(std::exchange(o.t, {}))
	{
	}
	thread &operator=(thread &&o) noexcept
	{
		thread from(std::move(o));

		from.swap(*this);
		return *this;
	}
	void swap(thread &o) noexcept
	{
		std::swap(stop, o.stop);
		std::swap(t, o.t);
	}
	friend void swap(thread &a, thread &b) noexcept
	{
		a.swap(b);
	}

	[[nodiscard]] bool joinable() const noexcept
	{
		return t != nullptr;
	}
	/* If it throws operation_canceled or timed_out, the thread is still joinable. */
	void join()
	{
		int r = t ? uk_thread_join(t, nullptr) : -EINVAL;

		if (r == 0 || r == -ESRCH) /* lost in a fork: there is no handle */
			t = nullptr;
		detail::check(r, "uk::thread::join");
	}
	void detach()
	{
		detail::check(t ? uk_thread_detach(std::exchange(t, nullptr)) : -EINVAL,
			      "uk::thread::detach");
	}
	[[nodiscard]] id get_id() const noexcept
	{
		return id(t ? uk_thread_id(t) : 0);
	}
	[[nodiscard]] native_handle_type native_handle() const noexcept
	{
		return t;
	}
	/* The virtual processors of the default set. */
	[[nodiscard]] static unsigned hardware_concurrency() noexcept
	{
		int n = uk_vp_count();

		return n > 0 ? static_cast<unsigned>(n) : 0;
	}

	[[nodiscard]] std::stop_source get_stop_source() noexcept
	{
		return stop;
	}
	[[nodiscard]] std::stop_token get_stop_token() const noexcept
	{
		return stop.get_token();
	}
	bool request_stop() noexcept
	{
		return stop.request_stop();
	}
	/* The calls in which the thread waits throw operation_canceled from now on. */
	void cancel() noexcept
	{
		if (t)
			uk_thread_cancel(t);
	}

	/* As std::this_thread::get_id(). */
	static id current() noexcept
	{
		uk_thread *self = uk_thread_self();
		std::uint64_t kernel = pthread_self();

		return id(self ? uk_thread_id(self) : id::foreign | kernel);
	}

private:
	template <class... P> void start(const thread_attr &attr, P &&...parts)
	{
		using call = detail::call<std::decay_t<P>...>;
		auto c = std::make_unique<call>(std::forward<P>(parts)...);
		uk_thread_attr a = UK_THREAD_ATTR_INIT;

		a.stack_size = attr.stack_size;
		a.set = attr.set;
		a.vp = attr.vp;
		a.name = attr.name;
		a.guard_size = attr.guard_size;
		detail::check(uk_thread_create(&t, &a, call::run, c.get()),
			      "uk::thread");
		c.release();
	}
	void end() noexcept
	{
		if (!t)
			return;
		stop.request_stop();
		int r = detail::surely([this] { return uk_thread_join(t, nullptr); });
		if (r != -ESRCH) /* lost in a fork */
			detail::check(r, "uk::thread::~thread");
	}

	std::stop_source stop;
	uk_thread *t = nullptr;
};

namespace this_thread
{

inline thread::id get_id() noexcept
{
	return thread::current();
}
inline void yield() noexcept
{
	uk_yield();
}
template <class Rep, class Period>
void sleep_for(const std::chrono::duration<Rep, Period> &d)
{
	if (uk_time ns = detail::span(d))
		detail::check(uk_sleep(ns), "uk::this_thread::sleep_for");
}
template <class Clock, class Duration>
void sleep_until(const std::chrono::time_point<Clock, Duration> &t)
{
	while (uk_time ns = detail::left(t))
		detail::check(uk_sleep(ns), "uk::this_thread::sleep_until");
}
/* Call f, which may block the kernel thread or compute for long: other threads run at
 * once. uk_blocking_begin(3). */
template <class F, class... A>
std::invoke_result_t<F, A...> run_blocking(F &&f, A &&...a)
{
	struct section {
		section()
		{
			uk_blocking_begin();
		}
		~section()
		{
			uk_blocking_end();
		}
	} inside;

	return std::invoke(std::forward<F>(f), std::forward<A>(a)...);
}

} // namespace this_thread

/* While it lives, the calls of its thread that wait throw timed_out after that time, or
 * at the deadline of an outer scope if that is earlier. */
class [[nodiscard]] deadline_scope
{
public:
	template <class Rep, class Period>
	explicit deadline_scope(const std::chrono::duration<Rep, Period> &d)
	    : before(uk_deadline_begin(uk_after(detail::span(d))))
	{
	}
	template <class Clock, class Duration>
	explicit deadline_scope(const std::chrono::time_point<Clock, Duration> &t)
	    : before(uk_deadline_begin(detail::deadline_of(t)))
	{
	}
	~deadline_scope()
	{
		uk_deadline_end(&before);
	}
	deadline_scope(const deadline_scope &) = delete;
	deadline_scope &operator=(const deadline_scope &) = delete;

private:
	uk_time before;
};

/* While it lives, a stop request cancels the thread that made it, as thread::cancel(). */
class cancel_on_stop
{
public:
	explicit cancel_on_stop(std::stop_token stop)
	    : on_stop(std::move(stop), cancel{ uk_thread_self() })
	{
	}

private:
	struct cancel {
		uk_thread *self;
		void operator()() const noexcept
		{
			if (self) /* not a foreign thread */
				uk_thread_cancel(self);
		}
	};
	std::stop_callback<cancel> on_stop;
};

} // namespace uk

template <> struct std::hash<uk::thread::id> {
	std::size_t operator()(uk::thread::id i) const noexcept
	{
		return std::hash<std::uint64_t>()(i.value);
	}
};

#endif
