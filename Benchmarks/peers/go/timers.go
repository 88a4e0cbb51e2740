// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand"
	"time"
)

// scheduled makes all timers well before the first is due, then lets them fire. Spread is the mean distance between
// two deadlines in nanoseconds.
func scheduled(row string, spread int) operation {
	return operation{row: row, count: 100_000, body: func(n int, m *meter) {
		all := newCountdown(n)
		numbers := rand.New(rand.NewSource(0x6763))
		first := time.Now().Add(time.Duration(n * 8000))
		begin := now()
		for i := 0; i < n; i++ {
			offset := 0
			if spread > 0 {
				offset = numbers.Intn(n * spread)
			}
			time.AfterFunc(time.Until(first.Add(time.Duration(offset))), all.arrive)
		}
		m.report("schedule", float64(now()-begin)/float64(n))
		cpu := processCPU()
		<-all.done
		m.report("cpu-per-fired", float64(processCPU()-cpu)/float64(n))
	}}
}

func timers() []operation {
	return []operation{
		scheduled("J.random-deadlines", 4000),
		scheduled("J.same-deadline", 0),
		each("J.1us-ahead", 50_000, func(n int) {
			all := newCountdown(n)
			for i := 0; i < n; i++ {
				time.AfterFunc(time.Microsecond, all.arrive)
			}
			<-all.done
		}),
		{row: "J.lateness", count: 250, body: func(n int, m *meter) {
			all := newCountdown(n)
			late := make([]uint64, n)
			numbers := rand.New(rand.NewSource(0x6763))
			start := time.Now()
			for i := 0; i < n; i++ {
				i := i
				deadline := start.Add(time.Duration(numbers.Intn(n*2_000_000) + 5_000_000))
				time.AfterFunc(time.Until(deadline), func() {
					late[i] = uint64(time.Since(deadline))
					all.arrive()
				})
			}
			<-all.done
			m.reportPercentiles(late, "")
		}},
	}
}
