// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The slot watch: Sources/GrandCentral/Engine/Sleep/SlotWatch.swift with the sleep protocol around it. Worker 0 is in a job
// that does not end; it fills its slot FILLS times, whenever the slot is empty. The others end a short job each, and then
// search and sleep. Every job that they find runs until all jobs run at once. EXTRA submitters publish a job in the run queue.
//
// Property: when nothing can move any more, every job has started: no job of a busy worker's slot waits while a worker sleeps.
//
// check: safety -DWORKERS=2 -DFILLS=1 -DEXTRA=0
// check: safety -DWORKERS=3 -DFILLS=2 -DEXTRA=0
// check: safety -DWORKERS=3 -DFILLS=1 -DEXTRA=1
// check: safety -DWORKERS=2 -DFILLS=1 -DEXTRA=0 -DNO_LOOK_BEFORE_SLEEP
// expect: fail
// check: safety -DWORKERS=2 -DFILLS=1 -DEXTRA=0 -DASKS_ONLY_THE_IDLE
// expect: fail
// check: safety -DWORKERS=3 -DFILLS=2 -DEXTRA=0 -DWATCH_NOT_PASSED_ON
// expect: fail
// check: safety -DWORKERS=3 -DFILLS=2 -DEXTRA=1 -DWATCHER_KEEPS_ROLE
// expect: fail
// check: safety -DWORKERS=3 -DFILLS=2 -DEXTRA=0 -DNO_LOOK_AFTER_OFF
// expect: fail
//
// Abstracted: time (a nap may end at any moment; two looks with the same filling are what ageing means); queues, bands,
// surplus workers, retirement and the monitor (sleep.pml); there are as many processors as workers.

#define TOTAL (FILLS + EXTRA)
#define NOBODY 255

#define OFF 0
#define WANTED 1
#define ON 2

byte searching = 0;
byte sleeping = 0;
bool listed[WORKERS];
bool token[WORKERS];
bool pending = false;
byte runQueue = 0;

bool slot = false;        // worker 0's
byte fills = 0;
byte seenFills = 0;
byte watch = OFF;
byte watcher = NOBODY;
byte started = 0;

inline wakeIfNeeded(chosen) {
  if
  :: searching > 0 -> skip
  :: searching == 0 && sleeping == 0 -> skip // all are active: the monitor watches over them
  :: searching == 0 && sleeping > 0 ->
    atomic {
      chosen = NOBODY;
      if
      :: searching == 0 && sleeping > 0 ->
        if
        :: listed[1] -> chosen = 1
#if WORKERS == 3
        :: listed[2] -> chosen = 2
#endif
        fi;
        listed[chosen] = false;
        sleeping--;
        searching++
      :: else -> skip
      fi
    };
    if
    :: atomic { chosen != NOBODY -> token[chosen] = true; chosen = NOBODY }
    :: chosen == NOBODY -> skip
    fi
  fi
}

proctype submitter() {
  byte chosen = NOBODY;
  runQueue++;
  if :: pending -> skip :: !pending -> pending = true fi;
  wakeIfNeeded(chosen)
}

// `keep` of worker 0, in its job.
proctype filler() {
  byte chosen = NOBODY;
  byte filled;
  do
  :: filled < FILLS ->
    atomic { !slot -> fills++ };
    atomic { slot = true; filled++ };
    if
    :: watch != OFF -> skip
    :: watch == OFF ->
      seenFills = fills;
#ifdef ASKS_ONLY_THE_IDLE
      if
      :: searching == 0 && sleeping == 0 -> skip
      :: searching > 0 || sleeping > 0 ->
#endif
        if
        :: atomic { watch == OFF -> watch = WANTED }; wakeIfNeeded(chosen)
        :: watch != OFF -> skip
        fi
#ifdef ASKS_ONLY_THE_IDLE
      fi
#endif
    fi
  :: filled == FILLS -> break
  od
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

inline stealAgedSlot(me, got, appointed, unchanged) {
  if
  :: watch == OFF -> skip
  :: watch != OFF ->
    becomeWatcher(me, appointed);
    if
    :: !appointed -> skip
    :: else ->
      appointed = false;
      atomic { unchanged = (fills == seenFills); seenFills = fills };
      if
      :: unchanged ->
        if
        :: atomic { slot -> slot = false; got = true }
        :: !slot -> skip
        fi
      :: else -> skip
      fi;
      if
      :: !unchanged && got -> resign(WANTED)
      :: !unchanged && !got -> skip
      :: unchanged ->
        unchanged = false;
        resign(OFF);
#ifndef NO_LOOK_AFTER_OFF
        if
        :: slot ->
          if
          :: atomic { watch == OFF -> watch = WANTED }
          :: watch != OFF -> skip
          fi;
          if
          :: !got -> becomeWatcher(me, appointed); appointed = false
          :: got -> skip
          fi
        :: !slot -> skip
        fi
#endif
      fi
    fi
  fi
}

// After joining the idle list: whether slots are in need of a watcher.
inline slotsNeedWatcher(missed) {
  if
  :: watch != OFF && watcher == NOBODY -> missed = true
  :: else -> skip
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
  bool got, last, appointed, unchanged, missed;

  // A short job ends.
  searching++;
search:
  if
  :: pending ->
    if
    :: atomic { runQueue > 0 -> runQueue--; got = true }
    :: runQueue == 0 -> pending = false;
      if
      :: atomic { runQueue > 0 -> runQueue--; got = true }; pending = true
      :: runQueue == 0 -> skip
      fi
    fi
  :: !pending -> skip
  fi;
  if
  :: got -> skip
  :: else -> stealAgedSlot(me, got, appointed, unchanged)
  fi;
  if
  :: got -> goto found
  :: else -> skip
  fi;

  atomic { listed[me] = true; searching--; sleeping++ };
  missed = false;
  if
  :: pending -> missed = true
  :: !pending -> skip
  fi;
#ifndef NO_LOOK_BEFORE_SLEEP
  if
  :: !missed && watcher != me -> slotsNeedWatcher(missed)
  :: else -> skip
  fi;
#endif
  if
  :: missed -> missed = false; leaveIdle(me); goto search
  :: else -> skip
  fi;
  if
  :: watcher == me -> // a nap
    if
    :: atomic { token[me] -> token[me] = false }
    :: leaveIdle(me)
    fi;
    goto search
  :: watcher != me -> skip
  fi;
end_parked:
  atomic { token[me] -> token[me] = false };
  goto search;

found:
  got = false;
#ifndef WATCHER_KEEPS_ROLE
  if
  :: watcher == me -> resign(WANTED)
  :: watcher != me -> skip
  fi;
#endif
  atomic { searching--; last = (searching == 0) };
  if
  :: last && pending && runQueue > 0 -> wakeIfNeeded(chosen)
#ifndef WATCH_NOT_PASSED_ON
  :: last && watch != OFF && watcher == NOBODY -> wakeIfNeeded(chosen)
#endif
  :: else -> skip
  fi;
  last = false;
  started++;
  started == TOTAL;
  searching++;
  goto search
}

proctype judge() {
end_watch:
  timeout;
  assert(started == TOTAL && searching == 0 && sleeping == WORKERS - 1)
}

init {
  byte index;
  atomic {
    run filler();
    for (index : 1 .. WORKERS - 1) { run worker(index) };
#if EXTRA > 0
    run submitter();
#endif
    run judge()
  }
}
