// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

package main

// A serial queue is a goroutine that calls what comes out of its channel. The channel is bounded.
type queue chan func()

func newQueue(capacity int) queue {
	q := make(queue, capacity)
	go func() {
		for item := range q {
			item()
		}
	}()
	return q
}

func (q queue) drain() {
	done := make(chan struct{})
	q <- func() { close(done) }
	<-done
}

const capacity = 1024

// endToEnd is an operation that submits n items to a queue and waits for the last.
func endToEnd(row string, submit func(q queue, n int)) operation {
	return operation{row: row, count: 400_000, body: func(n int, m *meter) {
		q := newQueue(capacity)
		m.start()
		submit(q, n)
		q.drain()
		m.stop()
		close(q)
	}}
}

func producers(row string, queues int) operation {
	return operation{row: row, count: 200_000, body: func(n int, m *meter) {
		all := make([]queue, queues)
		for i := range all {
			all[i] = newQueue(capacity)
		}
		crew(2, false, m, func(index int) {
			q := all[index%queues]
			for i := 0; i < n/2; i++ {
				q <- func() {}
			}
		})
		for _, q := range all {
			q.drain()
		}
		m.stop()
		for _, q := range all {
			close(q)
		}
	}}
}

// ring has queues among which an item travels.
func ring(row string, queues int) operation {
	return operation{row: row, count: 200_000, body: func(n int, m *meter) {
		all := make([]queue, queues)
		for i := range all {
			all[i] = newQueue(1)
		}
		done := make(chan struct{})
		left, at := n, 0
		var hop func()
		hop = func() {
			if left == 0 {
				close(done)
				return
			}
			left--
			at++
			if at == queues {
				at = 0
			}
			all[at] <- hop
		}
		m.start()
		hop()
		<-done
		m.stop()
		for _, q := range all {
			close(q)
		}
	}}
}

func queues() []operation {
	return []operation{
		endToEnd("A.serial-async-1p", func(q queue, n int) {
			for i := 0; i < n; i++ {
				q <- func() {}
			}
		}),
		producers("A.2p-1-queue", 1),
		producers("A.2p-2-queues", 2),
		endToEnd("A.capture-3-words", func(q queue, n int) {
			for i := 0; i < n; i++ {
				i, next := i, i+1
				q <- func() { sink = uint64(i + next + n) }
			}
		}),
		{row: "A.idle-queue", count: 300, body: func(n int, m *meter) {
			q := newQueue(capacity)
			var latencies, calls []uint64
			for i := 0; i < n; i++ {
				sleep(200_000)
				done := make(chan uint64)
				before := now()
				q <- func() { done <- now() }
				calls = append(calls, now()-before)
				latencies = append(latencies, <-done-before)
			}
			m.reportPercentiles(latencies, "")
			m.reportPercentiles(calls, "caller-")
			close(q)
		}},
		ring("A.self-hop", 1),
		ring("E.ping-pong", 2),
		ring("E.chain-1000", 1000),
	}
}
