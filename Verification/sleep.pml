// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The sleep protocol: Sources/GrandCentral/Engine/Sleep. Submitters publish jobs and wake at most one sleeper; workers
// search, join the idle list, look once more, and park. A job may wait for a later one (visible blocking).
//
// Property: when nothing can move any more, every job has run. And P1, P2 of PoolState at each step that changes it.
//
// check: safety -DJOBS=3
// check: safety -DJOBS=2 -DTARGET=1
// check: safety -DJOBS=2 -DBLOCKING -DTARGET=1
// check: safety -DJOBS=2 -DLOOK_FIRST
// expect: fail
// check: safety -DJOBS=2 -DNO_SECOND_LOOK
// expect: fail
// check: safety -DJOBS=2 -DBLOCKING -DTARGET=1 -DNO_MONITOR -DNO_WAKE_BY_BLOCKER
// expect: fail
//
// Abstracted: the run queue is a counter (its order is FIFOQueue's business), one band, no rings, slots or timers; threads are
// not started or retired; futex tokens are booleans.

#define WORKERS 2
#ifndef TARGET
#define TARGET 2
#endif

byte searching = WORKERS;
byte sleeping = 0;
byte blocked = 0;
byte jobs = 0;        // in the run queue
byte ran = 0;
bool pending = false; // the band's bit
bool listed[WORKERS];
bool token[WORKERS];
bool watched = false; // the monitor is awake
bool laterJobRan = false;

#define ACTIVE (WORKERS - blocked - sleeping)
#define CONSISTENT assert(searching + sleeping + blocked <= WORKERS && sleeping == listed[0] + listed[1])

// S3, S4 and F2. `chosen` is the caller's own variable.
inline wakeIfNeeded(chosen, seenSearching, seenActive, seenSleeping) {
  atomic { seenSearching = searching; seenActive = ACTIVE; seenSleeping = sleeping };
  if
  :: seenSearching > 0 -> skip
  :: seenSearching == 0 && seenActive >= TARGET -> watched = true
  :: seenSearching == 0 && seenActive < TARGET && seenSleeping == 0 -> skip
  :: seenSearching == 0 && seenActive < TARGET && seenSleeping > 0 ->
    atomic {
      chosen = WORKERS;
      if
      :: searching == 0 && ACTIVE < TARGET && sleeping > 0 ->
        sleeping--; searching++;
        if
        :: listed[0] -> listed[0] = false; chosen = 0
        :: else -> assert(listed[1]); listed[1] = false; chosen = 1
        fi;
        CONSISTENT
      :: searching == 0 && ACTIVE >= TARGET -> watched = true
      :: else -> skip
      fi
    };
    if
    :: chosen < WORKERS -> token[chosen] = true
    :: else -> skip
    fi
  fi;
  atomic { chosen = 0; seenSearching = 0; seenActive = 0; seenSleeping = 0 }
}

proctype submitter() {
  byte chosen, a, b, c;
#ifdef LOOK_FIRST
  wakeIfNeeded(chosen, a, b, c);
  jobs++;
  if :: !pending -> pending = true :: else -> skip fi
#else
  jobs++;                                             // S1
  if :: !pending -> pending = true :: else -> skip fi; // S2
  wakeIfNeeded(chosen, a, b, c)                       // S3, S4
#endif
}

proctype worker(byte me) {
  byte chosen, a, b, c;
  bool last, surplus;

search:
  surplus = (ACTIVE > TARGET);
  if
  :: surplus -> goto joinIdle
  :: else -> skip
  fi;
  if
  :: atomic { jobs > 0 -> jobs-- }; goto found
  :: jobs == 0 -> skip
  fi;
  // W1: the bit is cleared, and the band looked at once more.
  if
  :: pending ->
    pending = false;
    if
    :: atomic { jobs > 0 -> jobs-- }; pending = true; goto found
    :: jobs == 0 -> skip
    fi
  :: !pending -> skip
  fi;

joinIdle: // W2
  atomic { listed[me] = true; searching--; sleeping++; CONSISTENT };
#ifndef NO_SECOND_LOOK
  if // W3
  :: pending && !surplus ->
    if
    :: atomic { listed[me] -> listed[me] = false; sleeping--; searching++; CONSISTENT }
    :: atomic { !listed[me] && token[me] -> token[me] = false }
    fi;
    goto search
  :: pending && surplus -> wakeIfNeeded(chosen, a, b, c)
  :: !pending -> skip
  fi;
#endif
end_parked: // W4
  atomic { token[me] -> token[me] = false };
  goto search;

found:
  atomic { searching--; last = (searching == 0) }; // F1
  if // F2
  :: last && pending && jobs > 0 -> wakeIfNeeded(chosen, a, b, c)
  :: else -> skip
  fi;
work:
#ifdef BLOCKING
  // The first job waits for another one.
  if
  :: atomic { ran == 0 -> ran++ };
    if
    :: !laterJobRan ->
      atomic { blocked++; CONSISTENT };
#ifndef NO_WAKE_BY_BLOCKER
      if
      :: pending -> wakeIfNeeded(chosen, a, b, c)
      :: !pending -> skip
      fi;
#endif
      laterJobRan;
      blocked--
    :: laterJobRan -> skip
    fi
  :: atomic { ran > 0 -> ran++; laterJobRan = true }
  fi;
#else
  ran++;
#endif
  if
  :: atomic { jobs > 0 && !(ACTIVE > TARGET) -> jobs-- }; goto work
  :: jobs == 0 || ACTIVE > TARGET -> searching++; goto search
  fi
}

// Awake while it was told to watch: adds a worker while a processor is free and work is pending.
proctype monitor() {
  byte chosen;
end_asleep:
  watched && pending && jobs > 0 && ACTIVE < TARGET && sleeping > 0;
  atomic {
    chosen = WORKERS;
    if
    :: ACTIVE < TARGET && sleeping > 0 ->
      sleeping--; searching++;
      if
      :: listed[0] -> listed[0] = false; chosen = 0
      :: else -> listed[1] = false; chosen = 1
      fi
    :: else -> skip
    fi
  };
  if :: chosen < WORKERS -> token[chosen] = true :: else -> skip fi;
  chosen = 0;
  goto end_asleep
}

// Nothing can move: is anything left?
proctype judge() {
end_watch:
  timeout;
  assert(jobs == 0 && ran == JOBS && searching == 0 && blocked == 0)
}

init {
  byte index;
  atomic {
    run worker(0);
    run worker(1);
#ifndef NO_MONITOR
    run monitor();
#endif
    for (index : 1 .. JOBS) { run submitter() };
    run judge()
  }
}
