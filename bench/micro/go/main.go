// SPDX-License-Identifier: Apache-2.0

// Workloads on goroutines: go WORKLOAD N [M]; GOMAXPROCS chooses the processors.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var arg1, arg2 int

func result(metric string, v float64) { fmt.Printf("result %s %.3f\n", metric, v) }
func check(v int)                     { fmt.Printf("check %d\n", v) }
func per(t time.Time, n int) float64  { return float64(time.Since(t).Nanoseconds()) / float64(n) }

func cpu() int64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

func sumKB(file string, keys ...string) int {
	f, err := os.Open(file)
	if err != nil {
		return 0
	}
	defer f.Close()
	sum := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		w := strings.Fields(s.Text())
		if len(w) > 1 && slices.Contains(keys, w[0]) {
			n, _ := strconv.Atoi(w[1])
			sum += n * 1024
		}
	}
	return sum
}
func memOwn() int    { return sumKB("/proc/self/status", "VmRSS:", "VmPTE:") }
func memKernel() int { return sumKB("/proc/meminfo", "KernelStack:", "Slab:") }

func rngNext(s *uint64) uint64 {
	*s ^= *s >> 12
	*s ^= *s << 25
	*s ^= *s >> 27
	return *s * 0x2545F4914F6CDD1D
}

// What n goroutines count together from the moment at which the last has arrived to that at
// which the first is done. One processor: count is a plain number.
type Lap struct {
	n, count, from, to int
	in, out            atomic.Int64
	begun, done        time.Time
}

var lap Lap

func (l *Lap) arrive() bool {
	last := l.in.Add(1) == int64(l.n)
	if last {
		l.from, l.begun = l.count, time.Now()
	}
	return last
}
func (l *Lap) allIn() bool { return l.in.Load() >= int64(l.n) }
func (l *Lap) leave() {
	if l.out.Add(1) == 1 {
		l.to, l.done = l.count, time.Now()
	}
}
func (l *Lap) cost() float64 {
	return float64(l.done.Sub(l.begun).Nanoseconds()) / float64(l.to-l.from)
}

func runAll(each func(id int)) {
	var wg sync.WaitGroup
	wg.Add(arg1)
	for id := range arg1 {
		go func() { each(id); wg.Done() }()
	}
	wg.Wait()
}

func runYield() {
	each, total := arg2/arg1, 0
	lap.n = arg1
	runAll(func(int) {
		lap.arrive()
		for !lap.allIn() {
			runtime.Gosched()
			lap.count++
		}
		for range each {
			runtime.Gosched()
			lap.count++
		}
		lap.leave()
		total += each
	})
	result("yield", lap.cost())
	check(total)
}

const far = 300 * time.Second

// ring N TURNS: a baton goes round; timed: each wait has a deadline, which is never met.
func ring(deadline bool) {
	seats := make([]chan struct{}, arg1)
	for i := range seats {
		seats[i] = make(chan struct{}, 1)
	}
	lap.n = arg1
	runAll(func(id int) {
		own, next := seats[id], seats[(id+1)%arg1]
		var timer *time.Timer
		if deadline {
			timer = time.NewTimer(far)
			timer.Stop()
		}
		if lap.arrive() {
			seats[0] <- struct{}{}
		}
		for range arg2 / arg1 {
			if deadline {
				timer.Reset(far)
				select {
				case <-own:
				case <-timer.C:
					panic("deadline")
				}
				timer.Stop()
			} else {
				<-own
			}
			lap.count++
			next <- struct{}{}
		}
		lap.leave()
	})
	result("wake", lap.cost())
	check(lap.count)
}

func runSpawn() {
	n := 0
	done := make(chan struct{})
	t := time.Now()
	for range arg1 {
		go func() { n++; done <- struct{}{} }()
		<-done
	}
	result("one", per(t, arg1))
	check(n)
}

func runSpawnMany() {
	var n atomic.Int64
	round := func() {
		var arrived, done sync.WaitGroup
		gate := make(chan struct{})
		for range arg1 {
			arrived.Add(1)
			done.Add(1)
			go func() { arrived.Done(); <-gate; n.Add(1); done.Done() }()
		}
		arrived.Wait()
		close(gate)
		done.Wait()
	}
	t := time.Now()
	round()
	result("first", per(t, arg1))
	t, again := time.Now(), max(arg2-1, 1)
	for range again {
		round()
	}
	result("again", per(t, again*arg1))
	check(int(n.Load()))
}

func sum(lo, hi int, out *int, wg *sync.WaitGroup) {
	defer wg.Done()
	if lo == hi {
		*out = lo
		return
	}
	mid, a, b := (lo+hi)/2, 0, 0
	var kids sync.WaitGroup
	kids.Add(2)
	go sum(lo, mid, &a, &kids)
	go sum(mid+1, hi, &b, &kids)
	kids.Wait()
	*out = a + b
}

func runTree() {
	s := 0
	for _, name := range []string{"first", "again"} {
		var wg sync.WaitGroup
		wg.Add(1)
		t := time.Now()
		sum(1, arg1, &s, &wg)
		wg.Wait()
		result(name, per(t, 2*arg1-2))
	}
	check(s)
}

func runPipe() {
	r1, s1, _ := os.Pipe()
	r2, s2, _ := os.Pipe()
	go func() {
		b := make([]byte, 1)
		for {
			if n, _ := r1.Read(b); n != 1 {
				return
			}
			s2.Write(b)
		}
	}()
	ok, b, c := 0, make([]byte, 1), make([]byte, 1)
	t := time.Now()
	for i := range arg1 {
		b[0] = byte(i & 0x7f)
		s1.Write(b)
		if n, _ := r2.Read(c); n == 1 && c[0] == b[0] {
			ok++
		}
	}
	result("round", per(t, arg1)/1000)
	s1.Close()
	check(ok)
}

func runMemory() {
	var arrived, done sync.WaitGroup
	var n atomic.Int64
	gate := make(chan struct{})
	m0, k0 := memOwn(), memKernel()
	for range arg1 {
		arrived.Add(1)
		done.Add(1)
		go func() { arrived.Done(); <-gate; n.Add(1); done.Done() }()
	}
	arrived.Wait()
	m1, k1 := memOwn(), memKernel()
	result("bytes", float64(m1-m0)/float64(arg1))
	result("kernel", float64(k1-k0)/float64(arg1))
	close(gate)
	done.Wait()
	check(int(n.Load()))
}

func runChan() {
	a, b := make(chan int), make(chan int)
	go func() {
		for v := range a {
			b <- v
		}
	}()
	ok := 0
	t := time.Now()
	for i := range arg1 {
		a <- i
		if <-b == i {
			ok++
		}
	}
	result("round", per(t, arg1))
	close(a)
	check(ok)
}

// pairs N TRIPS: goroutines in pairs, each with two channels; after each trip there and back
// a pair stands behind the others.
func pairs() {
	chans := make([]chan int, arg1)
	for i := range chans {
		chans[i] = make(chan int)
	}
	lap.n = arg1
	runAll(func(id int) {
		there, back := chans[id&^1], chans[id|1]
		lap.arrive()
		for !lap.allIn() {
			runtime.Gosched()
		}
		for i := range arg2 / (arg1 / 2) {
			if id&1 == 1 {
				back <- <-there
				continue
			}
			there <- i
			if <-back != i {
				panic("channel")
			}
			lap.count++
			runtime.Gosched()
		}
		lap.leave()
	})
	result("trip", lap.cost())
	check(lap.count)
}

func runMutex(held bool) {
	var m sync.Mutex
	var wg sync.WaitGroup
	n := 0
	t := time.Now()
	for range arg1 {
		wg.Add(1)
		go func() {
			for range arg2 {
				m.Lock()
				n++
				if held {
					runtime.Gosched()
				}
				m.Unlock()
			}
			wg.Done()
		}()
	}
	wg.Wait()
	result("lock", per(t, arg1*arg2))
	check(n)
}

func sky(c chan int, num, size int) {
	if size == 1 {
		c <- num
		return
	}
	rc := make(chan int)
	for i := range 10 {
		go sky(rc, num+i*(size/10), size/10)
	}
	s := 0
	for range 10 {
		s += <-rc
	}
	c <- s
}

func runSkynet() {
	s := 0
	for _, name := range []string{"first", "again"} {
		c := make(chan int)
		t := time.Now()
		go sky(c, 0, arg1)
		s = <-c
		result(name, per(t, arg1))
	}
	check(s)
}

func runTimers() {
	late := make([]int64, arg1*arg2)
	for i := range late {
		late[i] = -1 << 62
	}
	var wg sync.WaitGroup
	c := cpu()
	for id := range arg1 {
		wg.Add(1)
		go func() {
			seed := uint64(id+1) * 0x9E3779B97F4A7C15
			for i := range arg2 {
				span := time.Duration(1000000 + int64(rngNext(&seed)%99000001))
				due := time.Now().Add(span)
				time.Sleep(span)
				late[id*arg2+i] = int64(time.Since(due))
			}
			wg.Done()
		}()
	}
	wg.Wait()
	c = cpu() - c
	done := 0
	for _, v := range late {
		if v != -1<<62 {
			done++
		}
	}
	slices.Sort(late)
	result("late", float64(late[len(late)*99/100])/1000)
	result("cpu", float64(c)/float64(len(late))/1000)
	check(done)
}

// timers-steady N WAKES: sleepers, whose spans grow with their number, so that as many wake
// in a second. Once all are there, N wake-ups pass, and then they are counted.
func runTimersSteady() {
	late := make([]int64, arg2)
	in, woken, over := 0, -arg1, false
	var from, to int64
	runAll(func(id int) {
		seed := uint64(id+1) * 0x9E3779B97F4A7C15
		in++
		for !over {
			span := (1000000 + int64(rngNext(&seed)%99000001)) * int64(arg1) / 10000
			due := time.Now().Add(time.Duration(span))
			time.Sleep(time.Duration(span))
			if in < arg1 {
				continue
			}
			if woken == 0 {
				from = cpu()
			}
			if woken >= 0 && woken < arg2 {
				late[woken] = int64(time.Since(due))
			}
			if woken++; woken == arg2 {
				to, over = cpu(), true
			}
		}
	})
	slices.Sort(late)
	result("late", float64(late[arg2*99/100])/1000)
	result("cpu", float64(to-from)/float64(arg2)/1000)
	check(min(woken, arg2))
}

func main() {
	arg1, _ = strconv.Atoi(os.Args[2])
	if len(os.Args) > 3 {
		arg2, _ = strconv.Atoi(os.Args[3])
	}
	table := map[string]func(){
		"yield": runYield, "spawn": runSpawn, "spawn-many": runSpawnMany, "tree": runTree,
		"pipe": runPipe, "memory": runMemory, "chan": runChan, "skynet": runSkynet,
		"timers": runTimers, "timers-steady": runTimersSteady, "pairs": pairs,
		"ring": func() { ring(false) }, "timed": func() { ring(true) },
		"mutex": func() { runMutex(false) }, "mutex-held": func() { runMutex(true) },
	}
	table[os.Args[1]]()
}
