// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The group: Sources/GrandCentral/Dispatch/Coordination/DispatchGroup.swift. MEMBERS threads enter and leave ROUNDS times each,
// WAITERS threads wait once each, the first TIMED of them with a deadline that may pass at any moment, NOTES threads ask for a
// notification.
//
// Properties: a waiter that is let through, or a note that is submitted, came while the count was zero, or the count has come
// to zero since. When nothing can move any more, all have been let through, each note once, and none is registered.
//
// check: safety -DMEMBERS=2 -DROUNDS=1 -DWAITERS=2 -DTIMED=1 -DNOTES=1
// check: safety -DMEMBERS=3 -DROUNDS=1 -DWAITERS=1 -DTIMED=0 -DNOTES=1
// check: safety -DMEMBERS=2 -DROUNDS=2 -DWAITERS=1 -DTIMED=0 -DNOTES=1
// check: safety -DMEMBERS=2 -DROUNDS=1 -DWAITERS=1 -DTIMED=0 -DNOTES=1 -DREGISTERS_AT_ZERO
// expect: fail
// check: safety -DMEMBERS=2 -DROUNDS=1 -DWAITERS=1 -DTIMED=0 -DNOTES=1 -DZERO_OUTSIDE_LOCK
// expect: fail
// check: safety -DMEMBERS=2 -DROUNDS=1 -DWAITERS=1 -DTIMED=0 -DNOTES=1 -DLAST_DOES_NOT_LOOK
// expect: fail
// check: safety -DMEMBERS=2 -DROUNDS=1 -DWAITERS=1 -DTIMED=0 -DNOTES=1 -DCLEARS_THE_COUNT
// expect: fail
// check: safety -DMEMBERS=1 -DROUNDS=1 -DWAITERS=1 -DTIMED=1 -DNOTES=1 -DLEAVES_CHOSEN
// expect: fail
//
// Abstracted: the parker (a token that is left is found), spinning, the notes' queue, overflow and misuse, which trap.

#define THREADS (WAITERS + NOTES)

byte count = 0;
bool watched;
bool locked;
byte zeros = 0;           // ghost: how often the count has come to zero

bool listed[THREADS];     // the waiters, then the notes
bool token[THREADS];      // told to go on; of a note: submitted
byte since[THREADS];      // ghost: `zeros` when the call began
bool atOnce[THREADS];     // ghost: the count was zero then
byte ended = 0;

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

inline begin(who) { d_step { since[who] = zeros; atOnce[who] = (count == 0) } }
inline through(who) { assert(atOnce[who] || zeros > since[who] || count == 0) }

// Group.R1, under the lock.
inline watch(isWatched) {
#ifdef REGISTERS_AT_ZERO
  watched = true;
  isWatched = true
#else
  d_step {
    isWatched = (count > 0);
    if
    :: isWatched -> watched = true
    :: else -> skip
    fi
  }
#endif
}

inline zero() {
  if
  :: count == 0 -> zeros++
  :: else -> skip
  fi
}

proctype Member() {
  byte round, seen, i;
  bool wasWatched, chosen[THREADS];

  for (round : 1 .. ROUNDS) {
    d_step { count++ }
    d_step { seen = count; wasWatched = watched }
    do
    :: wasWatched && seen == 1 -> break
    :: !(wasWatched && seen == 1) ->
      if
      :: d_step { count == seen && watched == wasWatched -> count--; zero() }; goto next
      :: d_step { !(count == seen && watched == wasWatched) -> seen = count; wasWatched = watched }
      fi
    od;
    // `leaveLastSlow`
#ifdef ZERO_OUTSIDE_LOCK
    skip;
    d_step { count--; zero(); seen = count; wasWatched = watched }
    lock();
#else
    lock();
    d_step { count--; zero(); seen = count; wasWatched = watched }
#endif
#ifdef LAST_DOES_NOT_LOOK
    wasWatched = true; seen = 0;
#endif
    if
    :: seen != 0 || !wasWatched -> unlock()
    :: else ->
      // Under the lock, and no thread looks at the lists without it.
      d_step {
        watched = false;
#ifdef CLEARS_THE_COUNT
        count = 0;
#endif
        for (i : 0 .. THREADS - 1) {
          chosen[i] = listed[i];
          listed[i] = false
        }
      }
      unlock();
      // In whatever order: each is told by itself.
      d_step {
        for (i : 0 .. THREADS - 1) {
          if
          :: chosen[i] -> through(i); assert(!token[i]); token[i] = true
          :: else -> skip
          fi;
          chosen[i] = false
        }
      }
    fi;
next:
    skip
  }
  ended++
}

proctype Waiting(byte me; bool timed) {
  bool isWatched;

  begin(me);
  if
  :: atOnce[me] -> skip
  :: else ->
    lock();
    watch(isWatched);
    if
    :: !isWatched -> unlock()
    :: else ->
      listed[me] = true;
      unlock();
      if
      :: atomic { token[me] -> token[me] = false }
      :: timed ->
        lock();
        if
#ifdef LEAVES_CHOSEN
        :: else -> listed[me] = false; unlock(); goto left
#else
        :: listed[me] -> listed[me] = false; unlock(); goto left
        :: !listed[me] -> unlock(); atomic { token[me] -> token[me] = false }
#endif
        fi
      fi
    fi
  fi;
  through(me);
left:
  ended++
}

proctype Notifying(byte me) {
  bool isWatched;

  begin(me);
  lock();
  watch(isWatched);
  if
  :: !isWatched -> unlock(); d_step { through(me); assert(!token[me]); token[me] = true }
  :: else -> listed[me] = true; unlock()
  fi;
  ended++
}

init {
  byte i;
  atomic {
    for (i : 1 .. MEMBERS) { run Member() }
    for (i : 0 .. WAITERS - 1) { run Waiting(i, i < TIMED) }
    for (i : 1 .. NOTES) { run Notifying(WAITERS + i - 1) }
  }
  ended == MEMBERS + WAITERS + NOTES;
  assert(count == 0 && !watched && !locked);
  d_step {
    // Waiters have taken their tokens, notes have been submitted.
    for (i : 0 .. THREADS - 1) { assert(!listed[i] && token[i] == (i >= WAITERS)) }
    i = 0
  }
}
