package org.ukthreads.bench.work

import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.yield

/** The same recursion as Threads.rec, as suspend functions. It suspends at yield(). */
object Coroutines {
    private var left = 0

    private suspend fun rec(d: Int, a: Long, o: Any?, at: Boolean): Int {
        if (d == 0) {
            do {
                yield()
                left--
            } while (at && left > 0)
            return 1
        }
        val x = a * 31 + d
        val r = rec(d - 1, x, o, at)
        return r + x.toInt() + (if (o == null) d else 1)
    }

    @JvmStatic
    fun run(depth: Int, n: Int, repeat: Boolean): Int = runBlocking {
        left = n
        var s = 0
        while (left > 0)
            s += rec(depth, 1, null, repeat)
        s
    }
}
