// SPDX-License-Identifier: Apache-2.0
import scala.collection.mutable
import scala.concurrent.{Await, ExecutionContext, Future, Promise}
import scala.concurrent.duration._
import scala.util.{Failure, Success, Try, Using}
import scala.util.control.Breaks._

sealed trait Tree[+A] { def sum(f: A => Int): Int }
case object Leaf extends Tree[Nothing] { def sum(f: Nothing => Int): Int = 0 }
case class Node[A](l: Tree[A], v: A, r: Tree[A]) extends Tree[A] {
  def sum(f: A => Int): Int = l.sum(f) + f(v) + r.sum(f)
}

trait Loud { def name: String; def say(s: => String): String = name + Scala.pause(s) + "!" }
trait Twice extends Loud { override def say(s: => String): String = super.say(s + s) }
class Dog(val name: String) extends Loud
class Puppy extends Dog(Scala.pause("puppy")) with Twice { lazy val age: Int = Scala.pause(1) }

class Meters(val m: Double) extends AnyVal { def +(o: Meters) = new Meters(Scala.pause(m) + o.m) }

object Even { def unapply(k: Int): Option[Int] = if (Scala.pause(k) % 2 == 0) Some(k / 2) else None }

object Scala {
  def pause[T](t: T): T = { Thread.sleep(1); t }
  def log(x: Any): Unit = println(x)

  implicit class Rich(val k: Int) { def squared: Int = pause(k) * k }

  @scala.annotation.tailrec
  def count(n: Int, sum: Long): Long = if (n == 0) sum else count(pause(n) - 1, sum + n)

  def early(l: List[Int]): Int = { l.foreach { k => if (pause(k) > 2) return k }; -1 }

  def byName(c: => Boolean)(body: => Unit): Unit = if (c) { body; byName(c)(body) }

  def main(args: Array[String]): Unit = {
    val t = Node(Node(Leaf, 1, Leaf), 2, Node(Leaf, 3, Leaf))
    log(t.sum(k => pause(k) * 10) + " " + t.copy(v = pause(7)))
    log(new Puppy().say(pause("wuff")) + new Puppy().age + new Dog("dog").say("w"))
    log((new Meters(1.5) + new Meters(pause(2.0))).m)
    log((1 to 6).map { case Even(h) => "even" + pause(h); case k if pause(k) > 4 => "big"; case k => k.toString })
    log(count(10, 0) + " " + early(List(1, 2, 3, 4)) + " " + 5.squared)
    log(List(3, 1, 2).sortBy(k => pause(-k)).foldLeft("")((a, b) => pause(a) + b))
    log((for (a <- 1 to 3; b <- List("x", "y") if pause(a) != 2) yield a.toString + pause(b)).mkString(","))
    log(LazyList.from(1).map(pause(_)).filter(_ % 3 == 0).take(3).toList)
    log(Map("a" -> 1, "b" -> 2).view.mapValues(v => pause(v) + 1).toMap.toList.sorted)
    log(List(1, 2, 3, 4, 5).groupBy(k => pause(k) % 2).toList.sortBy(_._1))
    log(Vector.tabulate(40)(k => pause(k)).grouped(7).map(_.sum).toList)
    val m = mutable.HashMap[String, Int]()
    for (w <- "a b a c b a".split(" ")) m.updateWith(w)(o => Some(pause(o.getOrElse(0)) + 1))
    log(m.toList.sorted)
    log(m.getOrElseUpdate("z", pause(26)) + " " + m.get("q").map(pause(_)).orElse(pause(Some(5))))
    log(Try(pause(1) / (pause(0))) match { case Failure(e) => "failed " + pause(e.getMessage); case Success(v) => "BAD" + v })
    log(Try(pause(4)).map(k => pause(k) * 2).recover { case _ => -1 }.get)
    breakable { for (k <- 1 to 9) { if (pause(k) == 4) break(); log(k) } }
    var n = 3
    byName(pause(n) > 0) { log("n" + pause(n)); n -= 1 }
    val pf: PartialFunction[Any, String] = { case s: String => "s" + pause(s); case (a: Int, b) => "pair" + pause(a) + b }
    log(List("x", (1, 2.5), 3).collect(pf))
    val lock = new Object
    var sum = 0
    val ts = (1 to 5).map { k => new Thread(() => lock.synchronized { val was = sum; Thread.sleep(1); sum = was + k }) }
    ts.foreach(_.start()); ts.foreach(_.join())
    log(sum)
    val pool = java.util.concurrent.Executors.newFixedThreadPool(3)
    implicit val ec: ExecutionContext = ExecutionContext.fromExecutor(pool)
    val fs = Future.sequence((1 to 4).map(k => Future { pause(k) * k }))
    log(Await.result(fs.map(_.sum), 20.seconds))
    val p = Promise[String]()
    p.future.map(s => pause(s) + "!").foreach(s => lock.synchronized { log(s); lock.notifyAll() })
    lock.synchronized { p.success("promise"); lock.wait(20000) }
    pool.shutdown()
    val arr = Array.ofDim[Int](2, 2); arr(pause(1))(pause(0)) += pause(5); log(arr.map(_.toList).toList)
    log(s"inter ${pause(1)} ${pause("p")} ${f"${pause(2.5)}%.2f"}")
    try { try { pause(1); throw new IllegalStateException("a") } finally log("fin " + pause(2)) } catch { case e: IllegalStateException => log(e.getMessage) }
    log((1, "two", 3.0) match { case (a, b, c) => pause(a) + b + pause(c) })
    val x: Any = pause(7L)
    log(x match { case k: Int => "BAD"; case k: Long if pause(k) > 3 => "long " + k; case _ => "BAD" })
    log(Iterator.iterate(1)(k => pause(k) * 2).takeWhile(pause(_) < 50).toList)
    log(List(List(1, 2), Nil, List(3)).flatten.zipWithIndex.map { case (a, i) => pause(a) * i }.sum)
    log(Either.cond(pause(true), pause(1), "l").map(_ + pause(1)).fold(pause(_), k => "r" + k))
    log(Using.resource(new java.io.StringReader(pause("res")))(r => r.read() + pause(1)))
  }
}
