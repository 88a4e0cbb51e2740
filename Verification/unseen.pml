// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// Pending work always has a watcher, though workers block where the engine sees nothing: Sources/GrandCentral/Engine/Sleep with
// SlotWatch.swift (SlotWatch.S1–SlotWatch.S6) and the monitor. The run queue holds a job B that blocks, unseen, until a job R has run; R lies in
// worker 0's slot. Worker 0 has filled it between jobs, as the poller's holder does, and may take B first; with IN_JOB it
// fills the slot in a job that waits for R itself. Worker 1 sleeps. Worker 2 is blocked unseen for good. With NAPS worker 1
// naps as the slots' watcher, and worker 2 is first blocked where it is seen, and comes back at any moment. Two processors.
//
// Property: when nothing can move any more, R has run.
//
// check: safety
// check: safety -DIN_JOB
// check: safety -DIN_JOB -DNAPS
// check: safety -DASKS_IN_JOBS_ONLY
// expect: fail
// check: safety -DIN_JOB -DNAPS -DSURPLUS_KEEPS_ROLE
// expect: fail
// check: safety -DIN_JOB -DMONITOR_LOOKS_FIRST
// expect: fail
// check: safety -DIN_JOB -DMONITOR_SLEEPS_BESIDE_SLOTS
// expect: fail
//
// Abstracted: time (a nap, and the monitor's tick, may end whenever the look after it can change something; two looks with
// the same filling are what ageing means); rings, bands, retirement, new threads (three workers are enough); timers and the
// poll itself (poller.pml). All loads and stores are in one order, as those of the protocol are.

#define WORKERS 3
#define TARGET 2
#define PATIENCE 1
#define NOBODY 255
#define MONITOR 254

#define OFF 0
#define WANTED 1
#define ON 2

#define NOTHING 0
#define BLOCKER 1
#define RESCUER 2

// The pool word; live is WORKERS.
byte searching = 0;
byte sleeping = 1;
byte blocked = 0;
bool listed[WORKERS];
bool token[WORKERS];
bool offProcessor[WORKERS];
bool stalled[WORKERS];

bool pending = false;
bool queuedBlocker = false;
bool queuedRescuer = false;
#define QUEUED (queuedBlocker || queuedRescuer)

bool slot = false;        // worker 0's
byte fills = 0;
byte seenFills = 0;
byte watch = OFF;
byte watcher = NOBODY;
byte quietNaps = 0;
bool awake = true;        // the monitor
bool hasRun = false;      // R

#define SURPLUS (WORKERS > TARGET + blocked + sleeping)
#define FREE (WORKERS < TARGET + blocked + sleeping)
#define SLOTS_NEED_WATCHER (watch != OFF && watcher == NOBODY)

inline rouse(chosen) {
  if
  :: atomic { chosen != NOBODY -> token[chosen] = true; chosen = NOBODY }
  :: chosen == NOBODY -> skip
  fi
}

// Under the idle list's lock.
inline choose(chosen) {
  if
  :: listed[0] -> chosen = 0
  :: listed[1] -> chosen = 1
  :: listed[2] -> chosen = 2
  fi;
  listed[chosen] = false;
  sleeping--;
  searching++
}

// Sleep.S3, Sleep.S4 of the sleep protocol
inline wakeIfNeeded(chosen) {
  if
  :: searching > 0 -> skip
  :: searching == 0 && !FREE -> awake = true
  :: searching == 0 && FREE ->
    atomic {
      chosen = NOBODY;
      if
      :: searching == 0 && FREE && sleeping > 0 -> choose(chosen)
      :: searching == 0 && !(FREE && sleeping > 0) -> awake = true
      :: else -> skip
      fi
    };
    rouse(chosen)
  fi
}

inline announce(chosen) {
  if :: pending -> skip :: !pending -> pending = true fi;
  wakeIfNeeded(chosen)
}

inline watchSlots(chosen) {
  if
  :: watch != OFF -> skip
  :: watch == OFF ->
    if
    :: atomic { watch == OFF -> watch = WANTED }; wakeIfNeeded(chosen)
    :: watch != OFF -> skip
    fi
  fi
}

inline take(job) {
  if
  :: atomic { queuedBlocker -> queuedBlocker = false; job = BLOCKER }
  :: atomic { queuedRescuer -> queuedRescuer = false; job = RESCUER }
  :: !QUEUED -> skip
  fi
}

inline takeOwnSlot(me, job) {
  if
  :: atomic { me == 0 && slot -> slot = false; job = RESCUER }
  :: me != 0 || !slot -> skip
  fi
}

inline becomeWatcher(me, appointed) {
  if
  :: atomic { watcher == NOBODY -> watcher = me; appointed = true }; watch = ON
  :: atomic { watcher != NOBODY -> appointed = (watcher == me) }
  fi
}

inline resign(state) {
  watch = state;
  watcher = NOBODY
}

// The look of a watcher, and what follows from it. `stays`: a worker keeps the role, the monitor does not.
inline lookAtSlots(me, job, appointed, unchanged, stays) {
  atomic { unchanged = (fills == seenFills); seenFills = fills };
  atomic {
    if
    :: unchanged && slot -> slot = false; job = RESCUER; quietNaps = 0
    :: unchanged && !slot -> quietNaps++
    :: else -> quietNaps = 0
    fi;
    unchanged = false
  };
  if
  :: job != NOTHING -> resign(WANTED)
  :: else ->
    if
    :: quietNaps > PATIENCE ->
      quietNaps = 0;
      resign(OFF);
      if
      :: slot ->
        if
        :: atomic { watch == OFF -> watch = WANTED }
        :: watch != OFF -> skip
        fi;
        if :: stays -> becomeWatcher(me, appointed); appointed = false :: else -> skip fi
      :: !slot -> skip
      fi
    :: quietNaps <= PATIENCE && !stays -> resign(WANTED)
    :: else -> skip
    fi
  fi
}

inline leaveIdle(me) {
  if
  :: atomic { listed[me] -> listed[me] = false; sleeping--; searching++ }
  :: atomic { !listed[me] && token[me] -> token[me] = false }
  fi
}

proctype worker(byte me) {
  byte chosen = NOBODY;
  byte job = NOTHING;
  bool last, surplus, appointed, unchanged, missed;

  if
#ifdef NAPS
  :: me == 2 -> blocked--; goto staysBlocked
#else
  :: me == 2 -> goto staysBlocked
#endif
  :: me == 1 -> goto asleep
  :: else -> skip
  fi;
#ifdef IN_JOB
  fills++;
  slot = true;
  watchSlots(chosen);
  offProcessor[0] = true;
  hasRun;
  goto back;
#else
  fills++;
  slot = true; // between jobs: no watch is asked for
#endif

search:
  surplus = SURPLUS;
  if
  :: surplus -> takeOwnSlot(me, job)
  :: else ->
    if
    :: takeOwnSlot(me, job)
    :: pending -> take(job); // another one comes first: each 61st time, or if it is more urgent
      if
      :: job == NOTHING -> takeOwnSlot(me, job)
#ifndef ASKS_IN_JOBS_ONLY
      :: job != NOTHING && me == 0 && slot -> watchSlots(chosen) // SlotWatch.S5
#endif
      :: else -> skip
      fi
    fi;
    if
    :: job == NOTHING && pending ->
      take(job);
      if
      :: job == NOTHING ->
        pending = false;
        take(job);
        if :: job != NOTHING -> announce(chosen) :: else -> skip fi
      :: else -> skip
      fi
    :: else -> skip
    fi;
    if
    :: job == NOTHING && watch != OFF ->
      becomeWatcher(me, appointed);
      if
      :: appointed -> appointed = false; lookAtSlots(me, job, appointed, unchanged, true)
      :: else -> skip
      fi
    :: else -> skip
    fi
  fi;
  if
  :: job != NOTHING -> goto found
  :: else -> skip
  fi;
#ifndef SURPLUS_KEEPS_ROLE
  if
  :: surplus && watcher == me -> resign(WANTED) // SlotWatch.S6
  :: else -> skip
  fi;
#endif

  atomic { listed[me] = true; searching--; sleeping++ };
  missed = pending;
  if
  :: !missed && watcher != me && SLOTS_NEED_WATCHER -> missed = true
  :: else -> skip
  fi;
  if
  :: missed && !surplus -> missed = false; leaveIdle(me); goto search
  :: missed && surplus -> missed = false; wakeIfNeeded(chosen)
  :: else -> skip
  fi;

asleep:
  if
  :: watcher == me -> // naps; one after which a surplus worker finds itself surplus again is left out
end_naps:
    if
    :: atomic { token[me] -> token[me] = false }
#ifdef SURPLUS_KEEPS_ROLE
    :: FREE -> leaveIdle(me)
#else
    :: leaveIdle(me)
#endif
    fi
  :: watcher != me ->
end_parked:
    atomic { token[me] -> token[me] = false }
  fi;
  goto search;

found:
  if
  :: watcher == me -> resign(WANTED)
  :: watcher != me -> skip
  fi;
  atomic { searching--; last = (searching == 0) }; // Sleep.F1
  if // Sleep.F2
  :: last && (pending && QUEUED || SLOTS_NEED_WATCHER) -> wakeIfNeeded(chosen)
  :: else -> skip
  fi;
  last = false;
  if
  :: job == RESCUER -> hasRun = true
  :: job == BLOCKER -> offProcessor[me] = true; hasRun
  fi;
back:
  job = NOTHING;
  atomic {
    offProcessor[me] = false;
    if :: stalled[me] -> stalled[me] = false; blocked-- :: else -> skip fi
  };
  searching++;
  goto search;

staysBlocked:
  offProcessor[me] = true;
end_blocked:
  false
}

#define CAN_STALL(w) (offProcessor[w] && !stalled[w])
#ifdef MONITOR_SLEEPS_BESIDE_SLOTS
#define NEEDED (pending)
#else
#define NEEDED (pending || SLOTS_NEED_WATCHER)
#endif

proctype monitor() {
  byte chosen = NOBODY;
  byte job = NOTHING;
  bool appointed, unchanged;
end_asleep:
  awake;
end_awake:
  if
  :: atomic { pending && FREE && sleeping > 0 -> choose(chosen) }; rouse(chosen); goto end_awake
  :: atomic { pending && CAN_STALL(0) -> stalled[0] = true; blocked++ }; goto end_awake
  :: atomic { pending && CAN_STALL(1) -> stalled[1] = true; blocked++ }; goto end_awake
  :: atomic { pending && CAN_STALL(2) -> stalled[2] = true; blocked++ }; goto end_awake
  :: NEEDED && SLOTS_NEED_WATCHER ->
    becomeWatcher(MONITOR, appointed);
    if
    :: appointed ->
      appointed = false;
      lookAtSlots(MONITOR, job, appointed, unchanged, false);
      if
      :: job == RESCUER -> job = NOTHING; queuedRescuer = true; announce(chosen)
      :: else -> skip
      fi
    :: else -> skip
    fi;
    goto end_awake
#ifdef MONITOR_LOOKS_FIRST
  :: !NEEDED -> awake = false; goto end_asleep
#else
  :: !NEEDED -> awake = false
#endif
  fi;
  if
  :: NEEDED -> awake = true; goto end_awake
  :: !NEEDED -> goto end_asleep
  fi
}

// Nothing can move: has the rescuer run?
proctype judge() {
end_watch:
  timeout;
  assert(hasRun)
}

init {
  byte index;
  atomic {
    listed[1] = true;
#ifdef NAPS
    watch = ON;
    watcher = 1;
    blocked = 1;
#endif
#ifndef IN_JOB
    searching = 1;
    queuedBlocker = true;
    pending = true;
#endif
    for (index : 0 .. WORKERS - 1) { run worker(index) };
    run monitor();
    run judge()
  }
}
