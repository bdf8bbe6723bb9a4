// SPDX-License-Identifier: Apache-2.0

// The workloads of act.c on goroutines: the same raw calls. go WORKLOAD ARGS...
package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var arg1, arg2 int

func result(metric string, v float64) { fmt.Printf("result %s %.3f\n", metric, v) }
func check(v int)                     { fmt.Printf("check %d\n", v) }
func nap(ns int64)                    { syscall.Nanosleep(&syscall.Timespec{Nsec: ns}, nil) }

func tellLate(late []int64) {
	slices.Sort(late)
	n := len(late)
	result("p50", float64(late[n/2])/1e3)
	result("p99", float64(late[n*99/100])/1e3)
	result("max", float64(late[n-1])/1e3)
	check(n)
}

func runAll(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Add(1)
		go func() { fn(i); wg.Done() }()
	}
	wg.Wait()
}

func latency() {
	var at, over atomic.Int64
	start := time.Now()
	now := func() int64 { return int64(time.Since(start)) + 1 }
	var late []int64
	runAll(2, func(i int) {
		if i == 0 {
			for over.Load() == 0 {
				if x := at.Load(); x != 0 {
					late = append(late, now()-x)
					at.Store(0)
				}
				runtime.Gosched()
			}
			return
		}
		for range arg1 {
			runtime.Gosched()
			for at.Load() != 0 {
				runtime.Gosched()
			}
			at.Store(now())
			nap(4000000)
		}
		over.Store(1)
	})
	tellLate(late)
}

func es(yields bool) {
	p := make([]int, 2)
	if syscall.Pipe(p) != nil {
		os.Exit(1)
	}
	syscall.Write(p[1], []byte("x"))
	t := time.Now()
	runAll(2, func(int) {
		b := make([]byte, 1)
		for range arg1 {
			syscall.Read(p[0], b)
			if yields {
				runtime.Gosched()
			}
			syscall.Write(p[1], b)
		}
	})
	result("turn", float64(time.Since(t).Nanoseconds())/float64(2*arg1))
	check(2 * arg1)
}

func sum(from, to int) int {
	if from == to {
		return from
	}
	var half [2]int
	middle := (from + to) / 2
	runAll(2, func(i int) {
		if i == 0 {
			half[0] = sum(from, middle)
		} else {
			half[1] = sum(middle+1, to)
		}
	})
	return half[0] + half[1]
}

func synchronisation() {
	all, n := 0, 0
	run := func() { runAll(1, func(int) { all = sum(1, arg1) }) }
	run()
	t := time.Now()
	for ; n == 0 || time.Since(t) < time.Second/2; n++ {
		run()
	}
	result("thread", float64(time.Since(t).Nanoseconds())/float64(n*(2*arg1-1)))
	check(all)
}

func hogs() {
	var over atomic.Int32
	late := make([]int64, 0, arg2)
	runAll(arg1+1, func(i int) {
		if i < arg1 {
			for over.Load() == 0 {
			}
			return
		}
		for range arg2 {
			due := time.Now().Add(time.Millisecond)
			time.Sleep(time.Millisecond)
			late = append(late, time.Since(due).Nanoseconds())
		}
		over.Store(1)
	})
	tellLate(late)
}

func main() {
	arg := func(i int) int {
		if len(os.Args) <= i {
			return 0
		}
		n, _ := strconv.Atoi(os.Args[i])
		return n
	}
	arg1, arg2 = arg(2), arg(3)
	switch w := os.Args[1]; w {
	case "latency":
		latency()
	case "es", "esyield":
		es(w == "esyield")
	case "sum":
		synchronisation()
	case "hogs":
		hogs()
	case "sleeps":
		t := time.Now()
		runAll(arg1, func(int) {
			for range arg2 {
				nap(1000000)
			}
		})
		result("all", float64(time.Since(t).Nanoseconds())/1e6)
		check(arg1)
	}
}
