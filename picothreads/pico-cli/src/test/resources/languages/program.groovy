// SPDX-License-Identifier: Apache-2.0
// Whatever of Groovy waits, locks or asks threads by name (LanguagesTest).
import groovy.transform.CompileStatic
import groovy.transform.Synchronized
import groovy.transform.WithReadLock
import groovy.transform.WithWriteLock
import java.util.concurrent.*
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.locks.ReentrantLock

println "start ${GroovySystem.version}"
// closures, currying, composition, owner and delegate
def square = { int x -> Thread.yield(); x * x }
println "closures ${(1..5).collect(square)} ${square.curry(7)()} ${(square >> { it + 1 })(3)}"
println "with ${[a: 1].with { Thread.yield(); a + 1 }} ${(1..3).inject(0) { s, x -> sleep 1; s + x }}"
def fib
fib = { n -> n < 2 ? n : fib.trampoline(n - 1)() + fib(n - 2) }
println "recursion ${fib(12)} ${({ n -> n < 2 ? n : call(n - 1) + call(n - 2) } as Closure).getClass() != null}"
def memo = { sleep 2; it * 2 }.memoize()
println "memoize ${memo(4)} ${memo(4)}"
// GString: lazy parts that wait
def lazy = "lazy ${-> sleep 1; Thread.currentThread() != null}"
println lazy
def word = 'text'
println "string $word ${word.toUpperCase()} ${"inner ${word[0..1]}"} ${'x'.multiply(3)}"
println """several
  lines ${[1, 2].sum()}""".stripIndent()
// metaclass
String.metaClass.shout = { -> Thread.yield(); delegate.toUpperCase() + '!' }
println "metaclass ${'hey'.shout()}"
class Ghost {
	def log = []
	def methodMissing(String name, args) { sleep 1; log << name; "$name(${args.join(',')})" }
	def propertyMissing(String name) { Thread.yield(); "no $name" }
}
def g = new Ghost()
println "missing ${g.walk(1, 2)} ${g.colour} ${g.log}"
def e = new Expando(name: 'x', greet: { -> sleep 1; "I am $name" })
println "expando ${e.greet()} ${e.name}"
Integer.metaClass.getTwice = { -> delegate * 2 }
println "property ${21.twice}"
class Account { int sum; Account plus(int n) { Thread.yield(); new Account(sum: sum + n) } }
println "operator ${(new Account(sum: 1) + 4).sum}"
use(Slow) { println "category ${5.slowly()}" }
class Slow { static slowly(Integer self) { sleep 1; "slow $self" } }
trait Named { String name = 'nobody'; String hello() { Thread.yield(); "hello $name" } }
class Person implements Named {}
println "trait ${new Person(name: 'Ada').hello()}"
// threads
def r = [].asSynchronized()
def ts = (1..30).collect { i -> Thread.start { sleep 5; r << i * i } }
ts*.join()
println "threads ${r.sum()} ${r.size()} ${ts.every { !it.alive }} ${ts[0].state}"
def wrapped = Collections.synchronizedList([1, 2, 3]); int all = 0
for (x in wrapped) all += x; wrapped.each { all += it }
println "wrapped $all ${wrapped.collect { sleep 1; it * 2 }} ${new Hashtable([a: 1]).collect { k, v -> v }} ${new Vector([1, 2]).sum()}"
def t = Thread.start('named') { try { sleep(100000) { true } } finally { println "in ${Thread.currentThread().name}" } }
println "alive ${t.alive}"
t.interrupt(); t.join()
println "ended ${t.alive}"
def d = Thread.startDaemon { Thread.sleep(1) }
println "daemon ${d.daemon}"; d.join()
def caught = null
def bad = new Thread({ throw new IllegalStateException('bad') })
bad.uncaughtExceptionHandler = { th, x -> caught = x.message }
bad.start(); bad.join()
println "handler $caught"
println "current ${Thread.currentThread().is(Thread.currentThread())} ${Thread.currentThread().name}"
// locks
class Counter {
	int n, m, k
	private final lock = new Object()
	synchronized void one() { int x = n; Thread.yield(); n = x + 1 }
	@Synchronized void two() { int x = m; Thread.yield(); m = x + 1 }
	@WithWriteLock void three() { int x = k; Thread.yield(); k = x + 1 }
	@WithReadLock int sum() { Thread.yield(); n + m + k }
}
def c = new Counter()
(1..6).collect { Thread.start { 20.times { c.one(); c.two(); c.three() } } }*.join()
println "counter ${c.sum()}"
def l = new ReentrantLock(); int held = 0
(1..4).collect { Thread.start { 25.times { l.lock(); try { int x = held; Thread.yield(); held = x + 1 } finally { l.unlock() } } } }*.join()
println "lock $held ${l.locked}"
def o = new Object(); boolean go = false
def w = Thread.start { synchronized (o) { while (!go) o.wait() }; println 'woken' }
synchronized (o) { go = true; o.notifyAll() }
w.join()
println "monitor ${Thread.holdsLock(o)} ${synchronized_(o)}"
def synchronized_(x) { synchronized (x) { Thread.holdsLock(x) } }
try { o.notify() } catch (IllegalMonitorStateException x) { println 'not the owner' }
// queues, pools, data flow
def q = new SynchronousQueue()
Thread.start { 5.times { q.put(it) } }
println "queue ${(1..5).collect { q.take() }}"
def b = new LinkedBlockingQueue(2), out = new ConcurrentLinkedQueue()
def ws = (1..3).collect { Thread.start { def x; while ((x = b.take()) != -1) out << x * x } }
50.times { b.put(it) }; 3.times { b << -1 }; ws*.join()
println "workers ${out.sum()} ${out.size()}"
def pool = Executors.newFixedThreadPool(3)
println "pool ${pool.invokeAll((1..5).collect { i -> ({ sleep 1; i * i } as Callable) })*.get()}"
println "submit ${pool.submit({ Thread.sleep(1); 'done' } as Callable).get()}"
pool.shutdown(); println "down ${pool.awaitTermination(5, TimeUnit.SECONDS)}"
def latch = new CountDownLatch(3); def n = new AtomicInteger()
3.times { Thread.start { n.incrementAndGet(); latch.countDown() } }
println "latch ${latch.await(5, TimeUnit.SECONDS)} ${n.get()}"
def value = new CompletableFuture()
Thread.start { sleep 2; value.complete(20) }
println "future ${value.thenApply { it + 1 }.thenCombine(CompletableFuture.supplyAsync { sleep 1; 21 }) { x, y -> x + y }.get()}"
println "local ${({ def tl = ThreadLocal.withInitial { 5 }; tl.get() })()}"
def timer = new Timer(true), tick = new CountDownLatch(2)
timer.schedule({ tick.countDown() } as TimerTask, 1, 1)
println "timer ${tick.await(5, TimeUnit.SECONDS)}"; timer.cancel()
// compiled statically
@CompileStatic
class Fast {
	private final BlockingQueue<Integer> in = new ArrayBlockingQueue<Integer>(1)
	int run() {
		Thread p = Thread.start { for (int i = 1; i <= 10; i++) in.put(i) }
		int s = 0
		for (int i = 0; i < 10; i++) s += in.take()
		p.join()
		List<Integer> l = [3, 1, 2]
		l.sort { Integer a, Integer z -> Thread.yield(); a <=> z }
		s + l[0]
	}
	@Lazy volatile String name = { Thread.sleep(1); 'made' }()
}
println "static ${new Fast().run()} ${new Fast().name}"
// what runs at run time
println "eval ${Eval.me('sleep 1; 6 * 7')} ${new GroovyShell().evaluate('def x = Thread.start { sleep 1 }; x.join(); x.alive')}"
println "sort ${[3, 1, 2].sort { x, y -> sleep 1; y <=> x }} ${[a: 2, b: 1].sort { sleep 1; it.value }}"
println "group ${(1..6).groupBy { Thread.yield(); it % 2 }} ${(1..4).findAll { sleep 1; it > 2 }} ${[[1, 2], [3]].collectMany { Thread.yield(); it }}"
println "each ${[1, 2, 3].tap { each { sleep 1 } }} ${[a: 1].collectEntries { k, v -> sleep 1; [k, v + 1] }}"
println "closure as ${({ x -> sleep 1; x + 1 } as java.util.function.Function).apply(1)} ${[1, 2].stream().map { it * 2 }.toList()}"
println "iterator ${new It().collect { it }}"
class It implements Iterable { Iterator iterator() { int n = 0; [hasNext: { Thread.yield(); n < 3 }, next: { sleep 1; n++ }] as Iterator } }
try { [1].each { sleep 1; throw new IOException('out') } } catch (IOException x) { println "thrown ${x.message}" }
def proc = ['sh', '-c', 'echo out; exit 3'].execute()
println "process ${proc.text.trim()} ${proc.waitFor()}"
def f = File.createTempFile('pico', '.txt')
f.withWriter { it.write('one\ntwo\n') }
println "file ${f.readLines()} ${f.withReader { it.readLine() }} ${f.delete()}"
def server = new ServerSocket(0)
def echo = Thread.start { server.accept { s -> s.withStreams { i, u -> u << i.newReader().readLine().reverse() << '\n' } } }
println "socket ${new Socket('localhost', server.localPort).withStreams { i, u -> u << 'abc\n'; u.flush(); i.newReader().readLine() }}"
echo.join(); server.close()
println 'end'
