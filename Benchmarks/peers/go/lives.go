// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

package main

import "sync/atomic"

// manyQueues gives ten items to each of n / 10 queues, which exist before the meter starts.
func manyQueues(row string, submit func(all []queue, perQueue int, done *countdown)) operation {
	return operation{row: row, count: 1_000_000, body: func(n int, m *meter) {
		const perQueue = 10
		all := make([]queue, n/perQueue)
		for i := range all {
			all[i] = newQueue(perQueue)
		}
		done := newCountdown(n)
		m.start()
		submit(all, perQueue, done)
		<-done.done
		m.stop()
		for _, q := range all {
			close(q)
		}
	}}
}

func sleepers(row string, run func(n int) []func(item func())) operation {
	return operation{row: row, count: 64, cold: true, body: func(n int, m *meter) {
		submit := run(n)
		var last uint64
		all := newCountdown(n)
		begin := now()
		for i := 0; i < n; i++ {
			submit[i](func() {
				at := now() - begin
				for seen := atomic.LoadUint64(&last); seen < at; seen = atomic.LoadUint64(&last) {
					if atomic.CompareAndSwapUint64(&last, seen, at) {
						break
					}
				}
				sleep(100_000_000)
				all.arrive()
			})
		}
		<-all.done
		m.report("all-started", float64(atomic.LoadUint64(&last)))
		m.report("all-done", float64(now()-begin))
	}}
}

func goroutines(n int) []func(item func()) {
	all := make([]func(func()), n)
	for i := range all {
		all[i] = func(item func()) { go item() }
	}
	return all
}

func ownQueues(n int) []func(item func()) {
	all := make([]func(func()), n)
	for i := range all {
		q := newQueue(1)
		all[i] = func(item func()) { q <- item }
	}
	return all
}

func lives() []operation {
	return []operation{
		each("I.create-destroy", 100_000, func(n int) {
			for i := 0; i < n; i++ {
				close(newQueue(1))
			}
		}),
		manyQueues("I.100k-queues-round-robin", func(all []queue, perQueue int, done *countdown) {
			for i := 0; i < perQueue; i++ {
				for _, q := range all {
					q <- done.arrive
				}
			}
		}),
		manyQueues("I.100k-queues-10-at-once", func(all []queue, perQueue int, done *countdown) {
			for _, q := range all {
				for i := 0; i < perQueue; i++ {
					q <- done.arrive
				}
			}
		}),
		each("I.new-queue-async-release", 20_000, func(n int) {
			done := newCountdown(n)
			for i := 0; i < n; i++ {
				q := newQueue(1)
				q <- done.arrive
				close(q)
			}
			<-done.done
		}),
		sleepers("L.64-sleeps-global", goroutines),
		sleepers("L.64-sleeps-private", goroutines),
		sleepers("L.64-sleeps-64-queues", ownQueues),
		{row: "L.63-wait-for-the-64th", count: 64, cold: true, body: func(n int, m *meter) {
			begin := now()
			semaphore := make(chan struct{})
			all := newCountdown(n)
			for i := 1; i <= n; i++ {
				last := i == n
				go func() {
					if last {
						close(semaphore)
					} else {
						<-semaphore
					}
					all.arrive()
				}()
			}
			<-all.done
			m.report("all-done", float64(now()-begin))
		}},
		{row: "P.first-async", count: 1, cold: true, body: func(_ int, m *meter) {
			started := make(chan uint64)
			before := now()
			go func() { started <- now() }()
			m.report("latency", float64(<-started-before))
		}},
	}
}
