// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

package main

import (
	"sync"
	"sync/atomic"
)

// each is an operation without set-up.
func each(row string, count int, body func(n int)) operation {
	return operation{row: row, count: count, body: func(n int, _ *meter) { body(n) }}
}

func contended(row string, threads int, pinned bool, inside, outside uint64) operation {
	return operation{row: row, count: 80_000, body: func(n int, m *meter) {
		var mutex sync.Mutex
		count := 0
		crew(threads, pinned, m, func(int) {
			var kept uint64
			for i := 0; i < n/threads; i++ {
				mutex.Lock()
				count++
				if inside > 0 {
					kept += spin(inside)
				}
				mutex.Unlock()
				if outside > 0 {
					kept += spin(outside)
				}
			}
			atomic.StoreUint64(&sink, kept)
		})
		if count != n/threads*threads {
			panic("the lock did not exclude")
		}
	}}
}

func mixed(row string, threads int, pinned, writes bool) operation {
	return operation{row: row, count: 200_000, body: func(n int, m *meter) {
		var lock sync.RWMutex
		var written uint64
		crew(threads, pinned, m, func(int) {
			var kept uint64
			for i := 0; i < n/threads; i++ {
				if writes && i%20 == 0 {
					lock.Lock()
					written++
					lock.Unlock()
				} else {
					lock.RLock()
					kept += written
					lock.RUnlock()
				}
			}
			atomic.StoreUint64(&sink, kept)
		})
	}}
}

func locked(n int) {
	var mutex sync.Mutex
	for i := 0; i < n; i++ {
		mutex.Lock()
		sink++
		mutex.Unlock()
	}
}

func locks() []operation {
	return []operation{
		each("B.sync-void", 1_000_000, locked),
		each("B.sync-returning", 1_000_000, locked),
		each("B.sync-nested", 1_000_000, func(n int) {
			var outer, inner sync.Mutex
			for i := 0; i < n; i++ {
				outer.Lock()
				inner.Lock()
				sink++
				inner.Unlock()
				outer.Unlock()
			}
		}),
		each("B.sync-reader", 1_000_000, func(n int) {
			var lock sync.RWMutex
			for i := 0; i < n; i++ {
				lock.RLock()
				sink++
				lock.RUnlock()
			}
		}),
		each("B.sync-barrier", 1_000_000, func(n int) {
			var lock sync.RWMutex
			for i := 0; i < n; i++ {
				lock.Lock()
				sink++
				lock.Unlock()
			}
		}),
		contended("C.2-threads", 2, true, 0, 0),
		contended("C.2-threads-1us-in", 2, true, 1000, 0),
		contended("C.2-threads-1us-in-1us-out", 2, true, 1000, 1000),
		contended("C.8-threads", 8, false, 0, 0),
		mixed("M.95-5-2-threads", 2, true, true),
		mixed("M.95-5-8-threads", 8, false, true),
		mixed("M.readers-2-threads", 2, true, false),
	}
}
