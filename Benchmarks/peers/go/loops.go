// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

package main

import (
	"sync"
	"sync/atomic"
)

// split gives each goroutine one half: no balance, no shared word.
func split(n int, body func(from, to int) uint64) {
	var group sync.WaitGroup
	group.Add(team - 1)
	for part := 1; part < team; part++ {
		go func(part int) {
			atomic.StoreUint64(&sink, body(n*part/team, n*(part+1)/team))
			group.Done()
		}(part)
	}
	body(0, n/team)
	group.Wait()
}

// share lets the goroutines take small parts until none is left.
func share(n int, body func(i int) uint64) {
	var at int64
	part := int64(n / (team * 64))
	if part == 0 {
		part = 1
	}
	run := func() {
		var kept uint64
		for {
			to := atomic.AddInt64(&at, part)
			if to-part >= int64(n) {
				atomic.StoreUint64(&sink, kept)
				return
			}
			for i := to - part; i < to && i < int64(n); i++ {
				kept += body(int(i))
			}
		}
	}
	var group sync.WaitGroup
	group.Add(team - 1)
	for i := 1; i < team; i++ {
		go func() {
			run()
			group.Done()
		}()
	}
	run()
	group.Wait()
}

func sum(from, to int) uint64 {
	var kept uint64
	for i := from; i < to; i++ {
		kept += uint64(i)
	}
	return kept
}

func microseconds(from, to int) uint64 {
	var kept uint64
	for i := from; i < to; i++ {
		kept += spin(1000)
	}
	return kept
}

func loops() []operation {
	calls := func(row string, count, iterations int, body func(from, to int) uint64) operation {
		return each(row, count, func(n int) {
			for i := 0; i < n; i++ {
				split(iterations, body)
			}
		})
	}
	return []operation{
		each("G.1e6-x-1ns", 1_000_000, func(n int) { split(n, sum) }),
		each("G.1e4-x-1us", 10_000, func(n int) { share(n, func(int) uint64 { return spin(1000) }) }),
		each("G.imbalanced", 1000, func(n int) { share(n, func(i int) uint64 { return spin(uint64(i) * 200) }) }),
		calls("G.2-empty", 50_000, 2, sum),
		calls("G.64-empty", 20_000, 64, sum),
		calls("G.16-x-1us", 4000, 16, microseconds),
	}
}
