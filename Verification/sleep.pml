// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The sleep protocol: Sources/GrandCentral/Engine/Sleep. Submitters publish jobs and wake at most one sleeper; workers
// search, join the idle list, look once more, and park, or end. A job may publish into its worker's own ring (RING), wait
// as we can see (BLOCKING) or unseen (UNSEEN), or run until all jobs run at once (TOGETHER: no processor stays idle while a
// job waits). SETTLES: a thread that takes no job clears bits that are out of date. Sleep.S1–Sleep.S4, Sleep.W1–Sleep.W4, Sleep.F1, Sleep.F2, Sleep.B1–Sleep.B3 are the steps of README.md there.
//
// Property: when nothing can move any more, every job has run and every worker sleeps. PoolState.P1 and PoolState.P2 hold at
// each step that changes it. With RING, worker 0 begins in a job that is not counted in JOBS, and whose worker's ring gets another.
//
// check: safety -DJOBS=3 -DWORKERS=2
// check: safety -DJOBS=2 -DWORKERS=3 -DTARGET=2
// check: safety -DJOBS=2 -DWORKERS=2 -DBANDS=2
// check: safety -DJOBS=2 -DWORKERS=2 -DTARGET=1
// check: safety -DJOBS=2 -DWORKERS=2 -DRETIRE
// check: safety -DJOBS=1 -DWORKERS=3 -DRING -DTOGETHER
// check: safety -DJOBS=2 -DWORKERS=2 -DTARGET=1 -DBLOCKING
// check: safety -DJOBS=2 -DWORKERS=3 -DTARGET=2 -DBLOCKING -DCONVOY=0
// check: safety -DJOBS=2 -DWORKERS=2 -DTARGET=1 -DUNSEEN
// check: safety -DJOBS=2 -DWORKERS=2 -DSETTLES
// check: safety -DJOBS=2 -DWORKERS=2 -DLOOK_FIRST
// expect: fail
// check: safety -DJOBS=2 -DWORKERS=2 -DNO_LOOK_AFTER_JOIN
// expect: fail
// check: safety -DJOBS=2 -DWORKERS=2 -DNO_LOOK_AFTER_CLEAR
// expect: fail
// check: safety -DJOBS=2 -DWORKERS=2 -DSETTLES -DNO_LOOK_AFTER_SETTLING
// expect: fail
// check: safety -DJOBS=2 -DWORKERS=2 -DTOGETHER -DNO_PASSING_ON
// expect: fail
// check: safety -DJOBS=1 -DWORKERS=3 -DRING -DTOGETHER -DRINGS_UNSEEN
// expect: fail
// check: safety -DJOBS=2 -DWORKERS=2 -DTARGET=1 -DBLOCKING -DNO_WAKE_BY_BLOCKER -DNO_MONITOR
// expect: fail
// check: safety -DJOBS=2 -DWORKERS=2 -DTARGET=1 -DUNSEEN -DMONITOR_LOOKS_FIRST
// expect: fail
//
// Abstracted: a run queue is a counter (its order is FIFOQueue's business); no slots (slotwatch.pml), timers or urgency;
// which sleeper is woken is left open; a park's time-out may come at any moment; the monitor ticks only when a tick can
// change something. All loads and stores are in one order, as those of the protocol are.

#ifndef BANDS
#define BANDS 1
#endif
#ifndef TARGET
#define TARGET WORKERS
#endif
#ifdef RING
#define TOTAL (JOBS + 2)
#else
#define TOTAL JOBS
#endif
#define NOBODY 255

// The pool word.
byte searching = 0;
byte sleeping = 0;
byte blocked = 0;
byte live = 0;

bool pending[BANDS];
byte runQueue[BANDS];
byte ring[WORKERS];       // jobs of band 0
bool born[WORKERS];
bool listed[WORKERS];     // in the idle list
bool token[WORKERS];
bool offProcessor[WORKERS];
bool stalled[WORKERS];
#ifdef UNSEEN
bool awake = true;        // the monitor
#else
bool awake = false;
#endif
byte started = 0;
byte ended = 0;

#if WORKERS == 2
#define LISTED (listed[0] + listed[1])
#define RINGS (ring[0] + ring[1])
#else
#define LISTED (listed[0] + listed[1] + listed[2])
#define RINGS (ring[0] + ring[1] + ring[2])
#endif
#if BANDS == 2
#define PENDING (pending[0] || pending[1])
#else
#define PENDING (pending[0])
#endif
// live - blocked - sleeping, without going below zero
#define SURPLUS (live > TARGET + blocked + sleeping)
// A convoy of blocked ones is not replaced as long as half of the processors have a worker.
#ifdef CONVOY
#define HOLDS_BACK (blocked > CONVOY && 2 * live >= TARGET + 2 * (blocked + sleeping))
#else
#define HOLDS_BACK false
#endif
#define FREE (live < TARGET + blocked + sleeping && !HOLDS_BACK)
#define CONSISTENT assert(searching + sleeping + blocked <= live && live <= WORKERS && sleeping == LISTED)

inline wakeMonitor() {
  if :: awake -> skip :: !awake -> awake = true fi
}

// Under the idle list's lock: a sleeper, or a new thread, becomes `chosen`.
inline choose(chosen) {
  if
  :: sleeping > 0 ->
    if
    :: listed[0] -> chosen = 0
    :: listed[1] -> chosen = 1
#if WORKERS == 3
    :: listed[2] -> chosen = 2
#endif
    fi;
    listed[chosen] = false;
    sleeping--;
    searching++
  :: sleeping == 0 ->
    if
    :: !born[0] -> chosen = 0
    :: !born[1] -> chosen = 1
#if WORKERS == 3
    :: !born[2] -> chosen = 2
#endif
    fi;
    live++;
    searching++
  fi;
  CONSISTENT
}

// After the lock: the thread is unparked, or started.
inline rouse(chosen) {
  if
  :: chosen != NOBODY ->
    atomic {
      if :: born[chosen] -> token[chosen] = true :: else -> born[chosen] = true fi;
      chosen = NOBODY
    }
  :: else -> skip
  fi
}

// Sleep.S3, Sleep.S4
inline wakeIfNeeded(chosen) {
  if
  :: searching > 0 -> skip
  :: searching == 0 && !FREE -> wakeMonitor()
  :: searching == 0 && FREE ->
    atomic {
      chosen = NOBODY;
      watch = false;
      if
      :: searching > 0 -> skip
      :: searching == 0 && (!FREE || sleeping == 0 && live == WORKERS) -> watch = true
      :: else -> choose(chosen)
      fi
    };
    if
    :: watch -> wakeMonitor()
    :: else -> rouse(chosen)
    fi
  fi
}

// Sleep.S2 to Sleep.S4
inline announce(band, chosen) {
  if :: pending[band] -> skip :: !pending[band] -> pending[band] = true fi;
  wakeIfNeeded(chosen)
}

proctype submitter(byte band) {
  byte chosen = NOBODY;
  bool watch;
#ifdef LOOK_FIRST
  wakeIfNeeded(chosen);
  runQueue[band]++;
  if :: pending[band] -> skip :: !pending[band] -> pending[band] = true fi
#else
  runQueue[band]++; // Sleep.S1
  announce(band, chosen)
#endif
}

// The run queue of a band, then the rings, one after the other.
inline take(band, got) {
  if
  :: atomic { runQueue[band] > 0 -> runQueue[band]--; got = true }
  :: runQueue[band] == 0 ->
#ifdef RING
    if
    :: band == 0 ->
      victim = 0;
      do
      :: victim < WORKERS ->
        if
        :: atomic { ring[victim] > 0 -> ring[victim]--; got = true; victim = WORKERS }
        :: atomic { ring[victim] == 0 -> victim++ }
        fi
      :: victim == WORKERS -> break
      od;
      victim = 0
    :: else -> skip
    fi
#else
    skip
#endif
  fi
}

// Sleep.W1 for one band
inline searchBand(band) {
  if
  :: pending[band] ->
    take(band, got);
    if :: got -> goto found :: else -> skip fi;
    pending[band] = false;
#ifndef NO_LOOK_AFTER_CLEAR
    take(band, got);
    if :: got -> announce(band, chosen); goto found :: else -> skip fi
#endif
  :: !pending[band] -> skip
  fi
}

proctype worker(byte me) {
  byte chosen = NOBODY;
  byte victim;
  bool watch, surplus, got, last, first;

#ifdef RING
  if :: me == 0 -> goto work :: else -> skip fi;
#endif
end_unborn:
  born[me];
search:
  surplus = SURPLUS;
  if :: surplus -> goto joinIdle :: else -> skip fi;
  searchBand(0);
#if BANDS == 2
  searchBand(1);
#endif

joinIdle: // Sleep.W2
  atomic { listed[me] = true; searching--; sleeping++; CONSISTENT };
#ifndef NO_LOOK_AFTER_JOIN
  if // Sleep.W3
  :: PENDING && !surplus -> // Sleep.W4
    if
    :: atomic { listed[me] -> listed[me] = false; sleeping--; searching++; CONSISTENT }
    :: atomic { !listed[me] && token[me] -> token[me] = false }
    fi;
    goto search
  :: PENDING && surplus -> wakeIfNeeded(chosen)
  :: !PENDING -> skip
  fi;
#endif
  surplus = false;
end_parked:
  if
  :: atomic { token[me] -> token[me] = false }; goto search
#ifdef RETIRE
  :: atomic { listed[me] && live - blocked > 1 -> listed[me] = false; sleeping--; blocked++; CONSISTENT };
    atomic { live--; blocked--; born[me] = false; CONSISTENT };
    if :: PENDING -> wakeIfNeeded(chosen) :: !PENDING -> skip fi;
    goto end_unborn
#endif
  fi;

found:
  atomic { got = false; searching--; last = (searching == 0) }; // Sleep.F1
#ifndef NO_PASSING_ON
  if // Sleep.F2
  :: last && PENDING ->
    if
#ifdef RINGS_UNSEEN
    :: pending[0] && runQueue[0] > 0 -> wakeIfNeeded(chosen)
#else
    :: pending[0] && runQueue[0] + RINGS > 0 -> wakeIfNeeded(chosen)
#endif
#if BANDS == 2
    :: pending[1] && runQueue[1] > 0 -> wakeIfNeeded(chosen)
#endif
    :: else -> skip
    fi
  :: else -> skip
  fi;
#endif
  last = false;

work:
  atomic { started++; first = (started == 1) };
#ifdef RING
  if
  :: first -> ring[me]++; announce(0, chosen)
  :: else -> skip
  fi;
#endif
#ifdef TOGETHER
  started == TOTAL;
#endif
#ifdef BLOCKING
  if
  :: first -> // its worker's slot is empty: no Sleep.B1
    atomic { blocked++; CONSISTENT }; // Sleep.B2
#ifndef NO_WAKE_BY_BLOCKER
    if // Sleep.B3
    :: PENDING -> wakeIfNeeded(chosen)
    :: !PENDING -> skip
    fi;
#endif
    started == TOTAL;
    blocked--
  :: else -> skip
  fi;
#endif
#ifdef UNSEEN
  if
  :: first ->
    offProcessor[me] = true;
    started == TOTAL;
    offProcessor[me] = false;
    atomic { if :: stalled[me] -> stalled[me] = false; blocked-- :: else -> skip fi }
  :: else -> skip
  fi;
#endif
  atomic { ended++; first = false };
  // The next job, if one is found at once.
  if
  :: !SURPLUS && PENDING ->
    take(0, got);
    if :: got -> got = false; goto work :: else -> skip fi
  :: else -> skip
  fi;
  searching++;
  goto search
}

#define CAN_STALL(w) (offProcessor[w] && !stalled[w])

// Ticks while it is awake and something is pending; falls asleep, and looks once more.
proctype monitor() {
  byte chosen = NOBODY;
end_asleep:
  awake;
end_awake:
  if
  :: atomic { PENDING && FREE && (sleeping > 0 || live < WORKERS) -> choose(chosen) }; rouse(chosen); goto end_awake
  :: atomic { PENDING && CAN_STALL(0) -> stalled[0] = true; blocked++ }; goto end_awake
  :: atomic { PENDING && CAN_STALL(1) -> stalled[1] = true; blocked++ }; goto end_awake
#ifdef MONITOR_LOOKS_FIRST
  :: !PENDING -> awake = false; goto end_asleep
#else
  :: !PENDING -> awake = false
#endif
  fi;
  if
  :: PENDING -> awake = true; goto end_awake
  :: !PENDING -> goto end_asleep
  fi
}

// Engine.settle for band 0, at any time.
proctype settler() {
  byte chosen = NOBODY;
  bool watch;
end_settled:
  pending[0] && runQueue[0] + RINGS == 0;
  pending[0] = false;
#ifndef NO_LOOK_AFTER_SETTLING
  if :: runQueue[0] + RINGS > 0 -> announce(0, chosen) :: runQueue[0] + RINGS == 0 -> skip fi;
#endif
  goto end_settled
}

// Nothing can move: is anything left?
proctype judge() {
end_watch:
  timeout;
  assert(ended == TOTAL && searching == 0 && blocked == 0 && sleeping == live)
}

init {
  byte index;
  atomic {
#ifdef RING
    live = 1;
    born[0] = true;
#endif
    for (index : 0 .. WORKERS - 1) { run worker(index) };
#ifndef NO_MONITOR
    run monitor();
#endif
    for (index : 1 .. JOBS) { run submitter(index % BANDS) };
#ifdef SETTLES
    run settler();
#endif
    run judge()
  }
}
