// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

type countdown struct {
	left int64
	done chan struct{}
}

func newCountdown(n int) *countdown { return &countdown{int64(n), make(chan struct{})} }

func (c *countdown) arrive() {
	if atomic.AddInt64(&c.left, -1) == 0 {
		close(c.done)
	}
}

func grow(group *sync.WaitGroup, depth int) {
	if depth > 0 {
		group.Add(2)
		go func() { grow(group, depth-1); group.Done() }()
		go func() { grow(group, depth-1); group.Done() }()
	}
}

func tasks() []operation {
	return []operation{
		each("D.global-1p", 100_000, func(n int) {
			all := newCountdown(n)
			for i := 0; i < n; i++ {
				go all.arrive()
			}
			<-all.done
		}),
		{row: "D.global-2p", count: 100_000, body: func(n int, m *meter) {
			all := newCountdown(n)
			crew(2, false, m, func(int) {
				for i := 0; i < n/2; i++ {
					go all.arrive()
				}
			})
			<-all.done
		}},
		each("D.fork-tree", 1<<17, func(n int) {
			var group sync.WaitGroup
			grow(&group, bits.TrailingZeros(uint(n))-1)
			group.Wait()
		}),
		each("D.global-1us-bodies", 40_000, func(n int) {
			all := newCountdown(n)
			for i := 0; i < n; i++ {
				go func() {
					atomic.StoreUint64(&sink, spin(1000))
					all.arrive()
				}()
			}
			<-all.done
		}),
	}
}

func handshakes() []operation {
	return []operation{
		each("F.async-signal-wait", 20_000, func(n int) {
			q := newQueue(capacity)
			semaphore := make(chan struct{}, 1)
			for i := 0; i < n; i++ {
				q <- func() { semaphore <- struct{}{} }
				<-semaphore
			}
			close(q)
		}),
		each("F.semaphore-ping-pong", 20_000, func(n int) {
			ping, pong, done := make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
			go func() {
				for i := 0; i < n/2; i++ {
					<-pong
					ping <- struct{}{}
				}
				close(done)
			}()
			for i := 0; i < n/2; i++ {
				pong <- struct{}{}
				<-ping
			}
			<-done
		}),
		each("F.semaphore-uncontended", 1_000_000, func(n int) {
			semaphore := make(chan struct{}, 1)
			for i := 0; i < n; i++ {
				semaphore <- struct{}{}
				<-semaphore
			}
		}),
		each("F.group-async-wait", 20_000, func(n int) {
			q := newQueue(capacity)
			var group sync.WaitGroup
			for i := 0; i < n; i++ {
				group.Add(1)
				q <- group.Done
				group.Wait()
			}
			close(q)
		}),
		each("F.work-item-wait", 20_000, func(n int) {
			q := newQueue(capacity)
			for i := 0; i < n; i++ {
				done := make(chan struct{})
				q <- func() { close(done) }
				<-done
			}
			close(q)
		}),
		each("F.async-sync", 20_000, func(n int) {
			q := newQueue(capacity)
			done := make(chan struct{})
			for i := 0; i < n; i++ {
				q <- func() {}
				q <- func() { done <- struct{}{} }
				<-done
			}
			close(q)
		}),
		each("H.group-enter-leave-empty", 1_000_000, func(n int) {
			var group sync.WaitGroup
			for i := 0; i < n; i++ {
				group.Add(1)
				group.Done()
			}
		}),
		each("H.group-enter-leave-nonzero", 1_000_000, func(n int) {
			var group sync.WaitGroup
			group.Add(1)
			for i := 0; i < n; i++ {
				group.Add(1)
				group.Done()
			}
			group.Done()
		}),
		{row: "H.async-group", count: 200_000, body: func(n int, m *meter) {
			q := newQueue(capacity)
			var group sync.WaitGroup
			m.start()
			for i := 0; i < n; i++ {
				group.Add(1)
				q <- group.Done
			}
			group.Wait()
			m.stop()
			close(q)
		}},
		each("H.time-now", 1_000_000, func(n int) {
			for i := 0; i < n; i++ {
				sink += now()
			}
		}),
	}
}
