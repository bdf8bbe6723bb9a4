// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.locks.ReentrantLock
import kotlin.concurrent.thread
import kotlin.concurrent.withLock
import kotlin.coroutines.Continuation
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.coroutines.createCoroutine
import kotlin.coroutines.resume
import kotlin.coroutines.suspendCoroutine

fun <T> pause(t: T): T {
	Thread.sleep(1)
	return t
}

sealed interface Shape
data class Circle(val r: Double) : Shape
data class Box(val w: Int, val h: Int = pause(2)) : Shape
object Nothing1 : Shape

fun area(s: Shape): Any = when (s) {
	is Circle -> pause(s.r) * 3
	is Box -> { val (w, h) = s; pause(w) * h }
	Nothing1 -> pause("none")
}

inline fun <T> twice(f: () -> T): List<T> = listOf(f(), pause(f()))

class Lazy1(start: Int) {
	val slow by lazy { pause(start) + 1 }
	var seen: String by kotlin.properties.Delegates.observable("-") { _, old, new -> log(old + pause(new)) }
	lateinit var later: String
	companion object { @JvmStatic fun make(k: Int) = Lazy1(pause(k)) }
	operator fun plus(o: Lazy1) = pause(slow) + o.slow
	inner class In { fun up() = pause(slow) * 2 }
}

abstract class Base(s: String) {
	init { log("base " + pause(s)) }
	open fun f(a: Int = pause(1), b: String = pause("b$a")): String = "$a$b"
}

class Derived : Base(pause("x")), Comparable<Derived> by Other(), CharSequence by pause("chars") {
	override fun f(a: Int, b: String) = super.f(pause(a) + 1, b) + "d"
	override fun toString() = "derived"
}

class Other : Comparable<Derived> { override fun compareTo(other: Derived) = pause(-1) }

@JvmInline value class Meters(val m: Double) { operator fun plus(o: Meters) = Meters(pause(m) + o.m) }

tailrec fun count(n: Int, sum: Long = 0): Long = if (n == 0) sum else count(pause(n) - 1, sum + n)

fun log(s: Any?) = println(s)

fun squares() = sequence {
	var k = 1
	while (true) {
		yield(pause(k * k))
		k++
	}
}

fun main() {
	for (s in listOf(Circle(pause(2.0)), Box(3), Box(h = 4, w = pause(5)), Nothing1))
		log(area(s))
	log(Box(1).copy(h = pause(9)) == Box(1, 9))
	log(twice { pause("t") })
	val l = Lazy1.make(4)
	l.seen = "a"
	l.seen = "b"
	log(l.slow + Lazy1(1).slow + (l + l) + l.In().up())
	try { log(l.later) } catch (e: UninitializedPropertyAccessException) { log("not yet " + pause(1)) }
	val d = Derived()
	log(d.f() + d.f(5) + d.f(b = "z") + (d < d) + d.length + d)
	log((Meters(1.5) + Meters(2.0)).m)
	log(count(10))
	log((1..5).map { pause(it) }.filter { pause(it) % 2 == 1 }.fold(0) { a, b -> pause(a) + b })
	log(listOf(3, 1, 2).sortedBy { pause(-it) }.joinToString("|") { "<${pause(it)}>" })
	log(mapOf("a" to 1, "b" to 2).mapValues { (k, v) -> pause(k) + v }.entries.associate { it.value to pause(it.key) })
	log(squares().filter { pause(it) % 2 == 0 }.take(3).toList())
	log((1..20).chunked(6) { pause(it.sum()) }.groupBy { pause(it) % 2 })
	val r: Result<Int> = runCatching { if (pause(true)) error(pause("failed")) else 1 }
	log(r.exceptionOrNull()?.message ?: "BAD")
	log("text".let { pause(it) }.also { log(pause("also")) }.run { length }.takeIf { pause(it) > 3 })
	var n: String? = pause(null)
	log(n?.length ?: pause("elvis"))
	n = pause("set")
	log(n!!.length)
	outer@ for (i in 1..3) for (j in 1..3) { if (pause(i * j) == 4) break@outer; if (j == 2) continue@outer; log("$i$j") }
	val q = LinkedBlockingQueue<Int>()
	val lock = ReentrantLock()
	var sum = 0
	val ts = (1..5).map { k -> thread { lock.withLock { val was = sum; Thread.sleep(1); sum = was + k }; q.put(k); synchronized(q) { pause(k) } } }
	ts.forEach { it.join() }
	log("$sum ${generateSequence { q.poll() }.sum()}")
	val x: Any = pause(7L)
	log(when (x) { in 1L..3L -> "low"; is Long -> "long " + pause(x + 1); else -> "BAD" })
	val f: suspend () -> String = { pause("co") + suspendCoroutine<Int> { c -> c.resume(pause(1)) } }
	f.createCoroutine(Continuation(EmptyCoroutineContext) { log(it.getOrThrow()) }).resume(Unit)
	val ref: (Int) -> Int = ::pause
	log(listOf(1, 2).map(ref) + listOf("a").map(String::length))
	buildString { repeat(3) { append(pause(it)) } }.let(::log)
	try { try { pause(1); throw IllegalStateException("a") } finally { log("fin " + pause(2)) } } catch (e: Exception) { log(e.message) }
	log(arrayOf(1, 2, 3).withIndex().sumOf { (i, v) -> pause(i) * v } + intArrayOf(4, 5).maxOf { pause(it) })
	log(with(StringBuilder()) { append(pause('c')); append(pause(1.5f)); append(pause(3.toByte())); toString() })
}
