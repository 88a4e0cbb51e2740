#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: raw pointers, uncounted references and `.pointee`, by layers, no more than there were
# Budget: 20

. Scripts/lib.sh

# An object in a word is `Borrowed` or `Owned` (Lanes/References.swift), the engine `Engine.current`, a job's payload has a type.
# A change that lowers a number lowers it here, too.
unsafe='\.pointee|Unmanaged|UnsafeRaw|UnsafeMutableRaw|OpaquePointer'

at_most() {
  local limit=$1 found name without=()
  shift
  for name in $apart; do without+=(--exclude-dir="$name"); done
  found=$(cd Sources/GrandCentral && grep -rohE --include='*.swift' "${without[@]}" "$unsafe" "$@" | wc -l)
  [ "$found" -le "$limit" ] || fail "$found unsafe uses in $*, at most $limit: use the types of Lanes/References.swift, or methods"
  fact "$*: $found of at most $limit"
}

# Memory that other processes look into is raw by nature, and so are records on the stacks of threads that sleep, which others
# look at, and what stands in for the kernel: they are counted apart.
apart="Insight Waits World Simulation"
at_most 312 Lanes Dispatch
at_most 769 Platform Primitives Engine
apart=
at_most 141 Platform/Insight Primitives/Insight
at_most 51 Lanes/Waits
at_most 38 Platform/World Dispatch/Simulation
