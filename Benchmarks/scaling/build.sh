#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
#
# Compiles library and probe as for ThreadSanitizer, and links them with the machine in place of its runtime:
# Benchmarks/.build/scaling/scaling-probe.

set -euo pipefail
cd "$(dirname "$0")/../.."
here=Benchmarks/scaling
out=Benchmarks/.build/scaling
mkdir -p "$out"
rm -f "$out"/*.o

# The three instructions that the header says directly become calls to the machine.
pause='__builtin_ia32_pause()=({extern void machine_pause(void); machine_pause();})'
cycles='__builtin_ia32_rdtsc()=({extern unsigned long long machine_cycles(void); machine_cycles();})'
asks='GC_PREFETCH_WRITE(a)=({extern void machine_prefetch_write(const void *); machine_prefetch_write(a);})'
headers=(-I Sources/CPlatform/include -I "$here/include")
clang=(clang -std=gnu11 -O2 -g -Wall -Wextra -Werror "${headers[@]}")
swift=(swiftc -sanitize=thread -O -wmo -g -swift-version 6 -warnings-as-errors -parse-as-library -package-name grandcentral
  "${headers[@]}" -I "$out" -Xcc "-D$pause" -Xcc "-D$cycles" -Xcc "-D$asks")

for part in threads cache entries wrappers report; do
  "${clang[@]}" -c "$here/$part.c" -o "$out/$part.o"
done
for file in "$here/known.c" Sources/CPlatform/*.c; do
  "${clang[@]}" -fsanitize=thread "-D$pause" "-D$cycles" "-D$asks" -c "$file" -o "$out/$(basename "$file" .c).o"
done

mapfile -t library < <(find Sources/GrandCentral -name '*.swift' | sort)
"${swift[@]}" -module-name GrandCentral "${library[@]}" -emit-module-path "$out/GrandCentral.swiftmodule" \
  -emit-object -o "$out/GrandCentral.o"
"${swift[@]}" -module-name ScalingProbe "$here"/*.swift -emit-object -o "$out/ScalingProbe.o"

wrap=()
for name in gc_futex_wait gc_futex_wait_wall gc_futex_wake gc_epoll_wait gc_write gc_nanosleep \
  gc_clock_uptime gc_clock_continuous gc_clock_wall gc_clock_thread_cpu gc_thread_start \
  gc_affinity_count gc_online_processors \
  swift_retain swift_retain_n swift_release swift_release_n swift_allocObject swift_once pthread_once; do
  wrap+=(-Xlinker "--wrap=$name")
done
swiftc "$out"/*.o "${wrap[@]}" -o "$out/scaling-probe"
