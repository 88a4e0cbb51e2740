// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The semaphore: Sources/GrandCentral/Dispatch/Coordination/DispatchSemaphore.swift. WAITERS threads wait once each, the first
// TIMED of them with a deadline that may pass at any moment; LOOKS threads take a signal if there is one, without waiting. SIGNALLERS
// threads signal EACH times: as often as all of them could need.
//
// Properties: every signal is taken once or left in the value; no thread that may take one is left waiting; when nothing can move
// any more, the list is empty and no signal is promised to a waiter.
//
// check: safety -DWAITERS=2 -DTIMED=2 -DLOOKS=0 -DSIGNALLERS=2 -DEACH=1 -DSTART=0
// check: safety -DWAITERS=2 -DTIMED=1 -DLOOKS=1 -DSIGNALLERS=3 -DEACH=1 -DSTART=0
// check: safety -DWAITERS=3 -DTIMED=1 -DLOOKS=0 -DSIGNALLERS=2 -DEACH=2 -DSTART=0
// check: safety -DWAITERS=3 -DTIMED=2 -DLOOKS=1 -DSIGNALLERS=1 -DEACH=3 -DSTART=1
// check: safety -DWAITERS=2 -DTIMED=0 -DLOOKS=0 -DSIGNALLERS=2 -DEACH=1 -DSTART=0 -DFORGETS_THE_EARLY
// expect: fail
// check: safety -DWAITERS=2 -DTIMED=1 -DLOOKS=0 -DSIGNALLERS=2 -DEACH=1 -DSTART=0 -DTAKES_BACK_ALWAYS
// expect: fail
// check: safety -DWAITERS=2 -DTIMED=2 -DLOOKS=0 -DSIGNALLERS=2 -DEACH=1 -DSTART=0 -DTAKES_BACK_NEVER
// expect: fail
// check: safety -DWAITERS=2 -DTIMED=1 -DLOOKS=0 -DSIGNALLERS=2 -DEACH=1 -DSTART=0 -DLEAVES_CHOSEN
// expect: fail
//
// Abstracted: the parker (a token that is left is found), spinning, waiters that are no threads (they park nowhere, and are woken
// by the same hand).

short value = START;
bool locked;
byte owed = 0;
chan list = [WAITERS] of { byte }; // oldest first
bool listed[WAITERS];
bool token[WAITERS];

byte taken = 0;
byte signalled = 0;
byte ended = 0;

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

inline park() { atomic { token[me] -> token[me] = false } }

// `takeBackWait`.
inline takeBack() {
#ifdef TAKES_BACK_NEVER
  through = false
#else
  seen = value;
  do
#ifdef TAKES_BACK_ALWAYS
  :: d_step { value == seen -> value = seen + 1; through = false }; break
  :: d_step { value != seen -> seen = value }
#else
  :: seen >= 0 -> break
  :: seen < 0 ->
    if
    :: d_step { value == seen -> value = seen + 1; through = false }; break
    :: d_step { value != seen -> seen = value }
    fi
#endif
  od
#endif
}

proctype Waiting(byte me; bool timed) {
  short seen;
  bool through = true;

  d_step { seen = value; value-- }
  if
  :: seen > 0 -> skip
  :: else ->
    // A deadline may have passed before.
    if
    :: timed -> takeBack()
    :: true -> skip
    fi;
    if
    :: !through -> skip
    :: else ->
      lock();
      if
      :: owed > 0 -> owed--; unlock()
      :: else ->
        d_step { list ! me; listed[me] = true }
        unlock();
        if
        :: park()
        :: timed ->
          // The deadline has passed: `giveUp`.
          lock();
          through = true;
          if
#ifdef LEAVES_CHOSEN
          :: false -> skip
          :: else ->
#else
          :: !listed[me] -> skip
          :: listed[me] ->
#endif
            takeBack()
          fi;
          if
          :: through -> unlock(); park()
          :: else ->
            d_step {
              if
              :: listed[me] -> list ?? eval(me); listed[me] = false
              :: else -> skip
              fi
            }
            unlock()
          fi
        fi
      fi
    fi
  fi;
  d_step {
    if
    :: through -> taken++
    :: else -> skip
    fi;
    ended++
  }
}

// `tryWait`.
proctype Looking() {
  short seen = value;
  do
  :: seen <= 0 -> break
  :: seen > 0 ->
    if
    :: d_step { value == seen -> value = seen - 1; taken++ }; break
    :: d_step { value != seen -> seen = value }
    fi
  od;
  ended++
}

proctype Signalling() {
  short seen;
  byte chosen, round;

  for (round : 1 .. EACH) {
    d_step { seen = value; value++; signalled++ }
    if
    :: seen >= 0 -> skip
    :: else ->
      lock();
      if
      :: nempty(list) ->
        d_step { list ? chosen; listed[chosen] = false }
        unlock();
        token[chosen] = true
      :: empty(list) ->
#ifndef FORGETS_THE_EARLY
        owed++;
#endif
        unlock()
      fi
    fi
  }
  ended++
}

init {
  byte i;
  atomic {
    for (i : 0 .. WAITERS - 1) { run Waiting(i, i < TIMED) }
    for (i : 1 .. SIGNALLERS) { run Signalling() }
#if LOOKS
    for (i : 1 .. LOOKS) { run Looking() }
#endif
  }
  ended == WAITERS + SIGNALLERS + LOOKS;
  assert(value == START + signalled - taken);
  assert(value >= 0);
  assert(owed == 0);
  assert(empty(list));
  d_step {
    for (i : 0 .. WAITERS - 1) { assert(!token[i]) }
    i = 0
  }
}
