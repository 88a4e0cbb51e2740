// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// One side of Primitives/FIFOQueue.swift: an index and the word that names the index's segment (F3). Both sides work alike.
//
// A thread reads the index, then the segment word, and takes the index's ticket by an exchange that compares the index only.
// Property: a thread that has got a ticket uses the segment that the ticket belongs to (assertion); nobody waits for ever at
// the place behind a segment's last one (invalid end states).
//
// A load that does not acquire may be overtaken by the loads behind it, as it is on ARM: RELAXED_INDEX reads the two words in
// either order, and the exchange does not notice.
//
// check: safety
// check: safety -DTHREADS=2 -DTICKETS=6
// check: safety -DRELAXED_INDEX
// expect: fail
// check: safety -DINDEX_BEFORE_SEGMENT
// expect: fail
//
// Abstracted: slots and values, the other side, segments that are used again (each has a number of its own).

#ifndef THREADS
#define THREADS 3
#endif
#ifndef TICKETS
#define TICKETS 3          // by each thread
#endif
#define SLOTS 2            // in a segment; the place behind them has none
#define PLACES (SLOTS + 1)

byte index = 0;
byte segment = 0;          // the segment word: segment n has the tickets from n * PLACES on

inline read() {
#ifdef RELAXED_INDEX
  if
  :: true -> seenIndex = index; seenSegment = segment
  :: true -> seenSegment = segment; seenIndex = index
  fi
#else
  seenIndex = index;
  seenSegment = segment
#endif
}

proctype thread() {
  byte seenIndex, seenSegment, got = 0;
  bool taken;
  do
  :: got < TICKETS ->
    read();
    if
    :: seenIndex % PLACES == SLOTS -> skip    // somebody moves the index on
    :: else ->
      atomic {
        taken = (index == seenIndex);
        if :: taken -> index++ :: else -> skip fi
      };
      if
      :: !taken -> skip
      :: else ->
        assert(seenSegment == seenIndex / PLACES);
        got++;
        if
        :: seenIndex % PLACES == SLOTS - 1 ->
#ifdef INDEX_BEFORE_SEGMENT
          index = seenIndex + 2;
          segment = seenIndex / PLACES + 1
#else
          segment = seenIndex / PLACES + 1;
          index = seenIndex + 2
#endif
        :: else -> skip
        fi
      fi
    fi
  :: else -> break
  od
}

init {
  atomic {
    byte i = 0;
    do :: i < THREADS -> run thread(); i++ :: else -> break od
  }
}
