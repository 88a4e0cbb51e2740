// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// The operations of the duel with goroutines, channels and the locks of Go.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// The number of processors that the goroutines run on.
const team = 2

// An operation does a number of things and returns when all have completed.
type operation struct {
	row   string
	count int
	// A run before the rounds would leave threads behind that the operation is to start.
	cold bool
	body func(n int, m *meter)
}

// Meter runs from the call of the body to its return, unless the body starts or stops it.
type meter struct {
	wall, cpu     uint64
	wallAt, cpuAt uint64
	stopped       bool
	reports       map[string]float64
}

func (m *meter) start() {
	m.stopped = false
	m.cpu = processCPU()
	m.wall = now()
}

func (m *meter) stop() {
	if m.stopped {
		return
	}
	m.wallAt = now()
	m.cpuAt = processCPU()
	m.stopped = true
}

// Report states a figure of the operation's own, in nanoseconds.
func (m *meter) report(part string, nanoseconds float64) {
	if m.reports == nil {
		m.reports = map[string]float64{}
	}
	m.reports[part] = nanoseconds
}

func (m *meter) reportPercentiles(latencies []uint64, prefix string) {
	sort.Slice(latencies, func(i, j int) bool { return latencies[i] < latencies[j] })
	m.report(prefix+"p50", float64(latencies[len(latencies)/2]))
	m.report(prefix+"p99", float64(latencies[len(latencies)*99/100]))
}

var origin = time.Now()

func now() uint64 { return uint64(time.Since(origin)) }

func processCPU() uint64 {
	const clockProcessCPU = 2
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockProcessCPU, uintptr(unsafe.Pointer(&t)), 0)
	return uint64(t.Nano())
}

// Sleep blocks the thread, as the items of the other sides do, and not only the goroutine.
func sleep(nanoseconds int64) {
	t := syscall.NsecToTimespec(nanoseconds)
	for syscall.Nanosleep(&t, &t) == syscall.EINTR {
	}
}

var (
	stepsPerMicrosecond uint64
	sink                uint64
)

//go:noinline
func steps(count uint64) uint64 {
	value := count | 1
	for i := uint64(0); i < count; i++ {
		value *= 0x9E3779B97F4A7C15
	}
	return value
}

func calibrate() {
	const count = 1_000_000
	best := ^uint64(0)
	for i := 0; i < 5; i++ {
		begin := now()
		sink += steps(count)
		if d := now() - begin; d < best {
			best = d
		}
	}
	stepsPerMicrosecond = count * 1000 / best
}

// Spin keeps the processor busy.
func spin(nanoseconds uint64) uint64 { return steps(nanoseconds * stepsPerMicrosecond / 1000) }

func usableProcessors() []int {
	var mask [16]uint64
	syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
	var processors []int
	for i := 0; i < len(mask)*64; i++ {
		if mask[i/64]&(1<<(i%64)) != 0 {
			processors = append(processors, i)
		}
	}
	return processors
}

var processors = usableProcessors()

func pin(processor int) {
	var mask [16]uint64
	mask[processor/64] = 1 << (processor % 64)
	syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
}

// Crew calls the body on goroutines of their own; pinned ones are threads on processors of their own. The meter
// starts when all are ready.
func crew(threads int, pinned bool, m *meter, body func(index int)) {
	ready := make(chan struct{})
	begin := make(chan struct{})
	done := make(chan struct{})
	for i := 0; i < threads; i++ {
		go func(i int) {
			if pinned {
				// Never unlocked: the thread ends with the goroutine.
				runtime.LockOSThread()
				pin(processors[i%len(processors)])
			}
			ready <- struct{}{}
			<-begin
			body(i)
			done <- struct{}{}
		}(i)
	}
	for i := 0; i < threads; i++ {
		<-ready
	}
	m.start()
	close(begin)
	for i := 0; i < threads; i++ {
		<-done
	}
}

func median(values []float64) float64 {
	sort.Float64s(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}

func measure(o operation, count, rounds int) {
	var wall, cpu []float64
	reports := map[string][]float64{}
	first := -1
	if o.cold {
		first = 0
	}
	for round := first; round < rounds; round++ {
		// What the rows before left behind is not this row's to collect.
		runtime.GC()
		sleep(1_000_000)
		m := &meter{}
		m.start()
		o.body(count, m)
		m.stop()
		if round < 0 {
			continue
		}
		wall = append(wall, float64(m.wallAt-m.wall)/float64(count))
		cpu = append(cpu, float64(m.cpuAt-m.cpu)/float64(count))
		for part, value := range m.reports {
			reports[part] = append(reports[part], value)
		}
	}
	const line = "{\"row\": %q, \"peer\": \"Go\", \"nanoseconds\": %.3f, \"cpu\": %.3f}\n"
	if len(reports) == 0 {
		fmt.Printf(line, o.row, median(wall), median(cpu))
	}
	for part, values := range reports {
		fmt.Printf(line, o.row+"."+part, median(values), median(cpu))
	}
}

func usage() {
	fmt.Fprintf(os.Stderr, "usage: %s [--list] [--rounds N] [ROW [COUNT]]\n", os.Args[0])
	os.Exit(2)
}

func main() {
	runtime.GOMAXPROCS(team)
	rounds, row, count := 5, "", 0
	for i := 1; i < len(os.Args); i++ {
		var err error
		switch argument := os.Args[i]; {
		case argument == "--list":
			for _, o := range operations() {
				fmt.Println(o.row)
			}
			return
		case argument == "--rounds" && i+1 < len(os.Args):
			i++
			rounds, err = strconv.Atoi(os.Args[i])
			if err != nil || rounds < 1 {
				usage()
			}
		case argument[:1] == "-":
			usage()
		case row == "":
			row = argument
		default:
			count, err = strconv.Atoi(argument)
			if err != nil || count < 1 {
				usage()
			}
		}
	}
	calibrate()
	for _, o := range operations() {
		if row != "" && row != o.row {
			continue
		}
		n := o.count
		if count > 0 {
			n = count
		}
		measure(o, n, rounds)
	}
}

func operations() []operation {
	var all []operation
	for _, some := range [][]operation{queues(), locks(), tasks(), handshakes(), loops(), timers(), lives()} {
		all = append(all, some...)
	}
	return all
}
