/* SPDX-License-Identifier: Apache-2.0 */
/* sync.hpp - mutexes, conditions, semaphores, barriers and latches for C++. uk.hpp has
 * the conventions. */
#ifndef UK_SYNC_HPP
#define UK_SYNC_HPP

#include <uk/base.hpp>

#include <atomic>
#include <climits>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <utility>

#include <uk/sync.h>

namespace uk
{

namespace detail
{

template <unsigned flags> class basic_mutex
{
public:
	using native_handle_type = uk_mutex *;

	constexpr basic_mutex() noexcept = default;
	basic_mutex(const basic_mutex &) = delete;
	basic_mutex &operator=(const basic_mutex &) = delete;

	void lock()
	{
		check(surely([this] { return uk_mutex_lock(&m); }), "uk::mutex::lock");
	}
	bool try_lock() noexcept
	{
		return uk_mutex_trylock(&m) == 0;
	}
	template <class Rep, class Period>
	bool try_lock_for(const std::chrono::duration<Rep, Period> &d)
	{
		return try_lock_until(after(d));
	}
	template <class Clock, class Duration>
	bool try_lock_until(const std::chrono::time_point<Clock, Duration> &t)
	{
		const char *what = "uk::mutex::try_lock_until";
		int r = until(t, what, [this](uk_time deadline) {
			return uk_mutex_lock_until(&m, deadline);
		});

		return r != -ETIMEDOUT && check(r, what) == 0;
	}
	/* std::terminate() if the caller does not hold it */
	void unlock() noexcept
	{
		check(uk_mutex_unlock(&m), "uk::mutex::unlock");
	}
	native_handle_type native_handle() noexcept
	{
		return &m;
	}

private:
	uk_mutex m = { 0, flags, 0, 0, 0 };
};

} // namespace detail

class mutex : public detail::basic_mutex<0>
{
};
using timed_mutex = mutex;
class recursive_mutex : public detail::basic_mutex<UK_MUTEX_RECURSIVE>
{
};
using recursive_timed_mutex = recursive_mutex;

/* A waiting writer holds new readers back. */
class shared_mutex
{
public:
	using native_handle_type = uk_rwlock *;

	constexpr shared_mutex() noexcept = default;
	shared_mutex(const shared_mutex &) = delete;
	shared_mutex &operator=(const shared_mutex &) = delete;

	void lock()
	{
		detail::check(detail::surely([this] { return uk_rwlock_wrlock(&l); }),
			      "uk::shared_mutex::lock");
	}
	bool try_lock() noexcept
	{
		return uk_rwlock_trywrlock(&l) == 0;
	}
	template <class Rep, class Period>
	bool try_lock_for(const std::chrono::duration<Rep, Period> &d)
	{
		return try_lock_until(detail::after(d));
	}
	template <class Clock, class Duration>
	bool try_lock_until(const std::chrono::time_point<Clock, Duration> &t)
	{
		return lock_until(uk_rwlock_wrlock_until, t);
	}
	void unlock() noexcept
	{
		detail::check(uk_rwlock_unlock(&l), "uk::shared_mutex::unlock");
	}

	void lock_shared()
	{
		detail::check(detail::surely([this] { return uk_rwlock_rdlock(&l); }),
			      "uk::shared_mutex::lock_shared");
	}
	bool try_lock_shared() noexcept
	{
		return uk_rwlock_tryrdlock(&l) == 0;
	}
	template <class Rep, class Period>
	bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &d)
	{
		return try_lock_shared_until(detail::after(d));
	}
	template <class Clock, class Duration>
	bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &t)
	{
		return lock_until(uk_rwlock_rdlock_until, t);
	}
	void unlock_shared() noexcept
	{
		detail::check(uk_rwlock_unlock(&l), "uk::shared_mutex::unlock_shared");
	}
	native_handle_type native_handle() noexcept
	{
		return &l;
	}

private:
	template <class Clock, class Duration>
	bool lock_until(int (*how)(uk_rwlock *, uk_time),
			const std::chrono::time_point<Clock, Duration> &t)
	{
		const char *what = "uk::shared_mutex::try_lock_until";
		int r = detail::until(
		    t, what, [=, this](uk_time deadline) { return how(&l, deadline); });

		return r != -ETIMEDOUT && detail::check(r, what) == 0;
	}

	uk_rwlock l = UK_RWLOCK_INIT;
};
using shared_timed_mutex = shared_mutex;

/* If a wait throws, the caller holds the lock again. Waits with a stop token are those
 * of std::condition_variable_any. */
class condition_variable
{
public:
	using native_handle_type = uk_cond *;

	constexpr condition_variable() noexcept = default;
	condition_variable(const condition_variable &) = delete;
	condition_variable &operator=(const condition_variable &) = delete;

	void notify_one() noexcept
	{
		if (std::atomic_ref(stoppable).load())
			wake_stoppable(1);
		uk_cond_signal(&c);
	}
	void notify_all() noexcept
	{
		if (std::atomic_ref(stoppable).load())
			wake_stoppable(INT_MAX);
		uk_cond_broadcast(&c);
	}

	void wait(std::unique_lock<mutex> &lock)
	{
		detail::check(uk_cond_wait(&c, lock.mutex()->native_handle()), name);
	}
	template <class Predicate>
	void wait(std::unique_lock<mutex> &lock, Predicate pred)
	{
		while (!pred())
			wait(lock);
	}
	template <class Clock, class Duration>
	std::cv_status wait_until(std::unique_lock<mutex> &lock,
				  const std::chrono::time_point<Clock, Duration> &t)
	{
		return status(uk_cond_wait_until(&c, lock.mutex()->native_handle(),
						 detail::deadline_of(t)),
			      t);
	}
	template <class Clock, class Duration, class Predicate>
	bool wait_until(std::unique_lock<mutex> &lock,
			const std::chrono::time_point<Clock, Duration> &t,
			Predicate pred)
	{
		while (!pred())
			if (wait_until(lock, t) == std::cv_status::timeout)
				return pred();
		return true;
	}
	template <class Rep, class Period>
	std::cv_status wait_for(std::unique_lock<mutex> &lock,
				const std::chrono::duration<Rep, Period> &d)
	{
		return wait_until(lock, detail::after(d));
	}
	template <class Rep, class Period, class Predicate>
	bool wait_for(std::unique_lock<mutex> &lock,
		      const std::chrono::duration<Rep, Period> &d, Predicate pred)
	{
		return wait_until(lock, detail::after(d), std::move(pred));
	}

	template <class Predicate>
	bool wait(std::unique_lock<mutex> &lock, std::stop_token stop, Predicate pred)
	{
		return wait_until(lock, std::move(stop),
				  std::chrono::steady_clock::time_point::max(),
				  std::move(pred));
	}
	template <class Clock, class Duration, class Predicate>
	bool wait_until(std::unique_lock<mutex> &lock, std::stop_token stop,
			const std::chrono::time_point<Clock, Duration> &t,
			Predicate pred)
	{
		std::stop_callback on_stop(stop, [this] { wake_stoppable(INT_MAX); });

		while (!stop.stop_requested()) {
			if (pred())
				return true;
			if (status(wait_once(lock, stop, detail::deadline_of(t)), t) ==
			    std::cv_status::timeout)
				break;
		}
		return pred();
	}
	template <class Rep, class Period, class Predicate>
	bool wait_for(std::unique_lock<mutex> &lock, std::stop_token stop,
		      const std::chrono::duration<Rep, Period> &d, Predicate pred)
	{
		return wait_until(lock, std::move(stop), detail::after(d),
				  std::move(pred));
	}
	native_handle_type native_handle() noexcept
	{
		return &c;
	}

private:
	static constexpr const char *name = "uk::condition_variable::wait";

	/* A wake-up before t that is not the thread's deadline is a spurious one. */
	template <class Clock, class Duration>
	static std::cv_status status(int r,
				     const std::chrono::time_point<Clock, Duration> &t)
	{
		if (r != -ETIMEDOUT)
			detail::check(r, name);
		else if (!detail::left(t))
			return std::cv_status::timeout;
		else if (detail::own_deadline_passed())
			detail::fail(r, name);
		return std::cv_status::no_timeout;
	}

	/* A stop callback must not take the waiter's mutex: the waiter holds it while it
	 * waits for the end of the callback. So a wait with a stop token is a wait for a
	 * change of `wakes`, which needs no mutex: a wake-up or a stop request after the
	 * load changes `wakes`, and one before it has changed what the caller saw. */
	int wait_once(std::unique_lock<mutex> &lock, const std::stop_token &stop,
		      uk_time deadline)
	{
		std::uint32_t seen = std::atomic_ref(wakes).load();

		if (stop.stop_requested())
			return 0;
		std::atomic_ref(stoppable).fetch_add(1); /* notify sees it: the mutex */
		lock.unlock();
		int r = uk_futex_wait(&wakes, seen, deadline);
		lock.lock();
		std::atomic_ref(stoppable).fetch_sub(1);
		return r == -EAGAIN ? 0 : r;
	}
	void wake_stoppable(int n) noexcept
	{
		std::atomic_ref(wakes).fetch_add(1);
		uk_futex_wake(&wakes, n);
	}

	uk_cond c = UK_COND_INIT;
	std::uint32_t wakes = 0;     /* of waits with a stop token */
	std::uint32_t stoppable = 0; /* threads in such waits */
};

template <std::ptrdiff_t least_max = INT_MAX> class counting_semaphore
{
	static_assert(least_max >= 0 && least_max <= INT_MAX);

public:
	constexpr explicit counting_semaphore(std::ptrdiff_t desired)
	    : s{ static_cast<std::uint32_t>(desired), 0 }
	{
	}
	counting_semaphore(const counting_semaphore &) = delete;
	counting_semaphore &operator=(const counting_semaphore &) = delete;

	static constexpr std::ptrdiff_t max() noexcept
	{
		return INT_MAX;
	}
	void release(std::ptrdiff_t n = 1)
	{
		while (n-- > 0)
			detail::check(uk_sem_post(&s),
				      "uk::counting_semaphore::release");
	}
	void acquire()
	{
		detail::check(uk_sem_wait(&s), "uk::counting_semaphore::acquire");
	}
	bool try_acquire() noexcept
	{
		return uk_sem_trywait(&s) == 0;
	}
	template <class Rep, class Period>
	bool try_acquire_for(const std::chrono::duration<Rep, Period> &d)
	{
		return try_acquire_until(detail::after(d));
	}
	template <class Clock, class Duration>
	bool try_acquire_until(const std::chrono::time_point<Clock, Duration> &t)
	{
		const char *what = "uk::counting_semaphore::try_acquire_until";
		int r = detail::until(t, what, [this](uk_time deadline) {
			return uk_sem_wait_until(&s, deadline);
		});

		return r != -ETIMEDOUT && detail::check(r, what) == 0;
	}

private:
	uk_sem s;
};
using binary_semaphore = counting_semaphore<1>;

/* Without a completion function and without arrival tokens. */
class barrier
{
public:
	explicit barrier(std::ptrdiff_t n)
	{
		bool fits = n > 0 && n <= INT_MAX;

		detail::check(fits ? uk_barrier_init(&b, static_cast<std::uint32_t>(n))
				   : -EINVAL,
			      "uk::barrier");
	}
	barrier(const barrier &) = delete;
	barrier &operator=(const barrier &) = delete;

	/* True in one thread of each round, the last to arrive. If it throws, the
	 * thread has not arrived. */
	bool arrive_and_wait()
	{
		return detail::check(uk_barrier_wait(&b),
				     "uk::barrier::arrive_and_wait");
	}

private:
	uk_barrier b;
};

class latch
{
public:
	constexpr explicit latch(std::ptrdiff_t n)
	    : count(static_cast<std::uint32_t>(n))
	{
	}
	latch(const latch &) = delete;
	latch &operator=(const latch &) = delete;

	void count_down(std::ptrdiff_t n = 1) noexcept
	{
		auto by = static_cast<std::uint32_t>(n);

		/* once it is 0 a waiter may destroy it: only the address is used */
		if (std::atomic_ref(count).fetch_sub(by) == by)
			uk_futex_wake(&count, INT_MAX);
	}
	[[nodiscard]] bool try_wait() const noexcept
	{
		return left() == 0;
	}
	void wait() const
	{
		while (std::uint32_t n = left()) {
			int r = uk_futex_wait(&count, n, UK_FOREVER);

			if (r != -EAGAIN)
				detail::check(r, "uk::latch::wait");
		}
	}
	void arrive_and_wait(std::ptrdiff_t n = 1)
	{
		count_down(n);
		wait();
	}

private:
	std::uint32_t left() const noexcept
	{
		return std::atomic_ref(const_cast<std::uint32_t &>(count)).load();
	}

	std::uint32_t count;
};

/* The calls that wait for another one are not cancelled. */
class once_flag
{
public:
	constexpr once_flag() noexcept = default;
	once_flag(const once_flag &) = delete;
	once_flag &operator=(const once_flag &) = delete;

private:
	template <class F, class... A>
	friend void call_once(once_flag &flag, F &&f, A &&...a);
	mutex running;
	std::atomic<bool> done = false;
};

template <class F, class... A> void call_once(once_flag &flag, F &&f, A &&...a)
{
	if (flag.done.load(std::memory_order_acquire))
		return;
	std::lock_guard hold(flag.running);
	if (flag.done.load(std::memory_order_relaxed))
		return;
	std::invoke(std::forward<F>(f), std::forward<A>(a)...);
	flag.done.store(true, std::memory_order_release);
}

} // namespace uk

#endif
