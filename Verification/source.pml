// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A source: SourceState, the steps of DispatchSource, and a watch in the DescriptorTable. One thread activates, one may
// cancel, one suspends and resumes, one writes what there is to read; the kernel reports, level-triggered; two workers
// stand ready to run the job, so that a job in two places would run beside itself. A handler reads some or all of what
// there is, and may cancel. The registration may be refused.
//
// Properties, by the names of SourceState.swift:
//   SourceState.V1  the job is in one place, no two handlers run at once
//   SourceState.V2  no event handler starts once `cancelled` is set, no registration handler either
//   SourceState.V3  the cancel handler runs once, when the kernel's side is off the table and nothing else runs
//   SourceState.V4  at rest, a cancelled source has finished and given up its own reference, once; only its user touches it
//       afterwards
//   SourceState.V5  at rest, all that was written to a source that is not cancelled has been read, and the watch is armed again
//   SourceState.V10 at rest, the registration handler has run, whenever it was set
//   ends  a source that is cancelled, activated and resumed finishes
//
// check: safety
// check: safety -DACTIVATE_TWICE
// check: ltl ends
// check: safety -DEARLY_CLEAR
// expect: fail
// check: safety -DREGISTRAR_FORGETS
// expect: fail
// check: safety -DSILENCED_FORGOTTEN
// expect: fail
// check: safety -DPENDING_AFTER
// expect: fail
// check: safety -DBLIND_DELIVERY
// expect: fail
// check: safety -DEAGER_FINISH
// expect: fail
// check: safety -DUNLOCKED_REPORT
// expect: fail
// check: safety -DRETAIN_LATE
// expect: fail
// check: safety -DNO_RETAIN_WHEN_SUSPENDED
// expect: fail
// check: ltl ends -DEND_FORGETS
// expect: fail
// check: safety -DLATE_HANDLER
// check: safety -DLATE_HANDLER -DSTEP_BEFORE_HANDLER
// expect: fail
//
// Abstracted: targets, QoS, the handlers' replacement, data but for whether there are any; a timer's late unregistration.

// A thread more, which sets the registration handler; then less is written.
#ifdef LATE_HANDLER
#define LATE 1
#define WRITES 1
#else
#define LATE 0
#define WRITES 2
#endif

// The state word.
bool inactive = true;
bool registering, registered, announcing, pending, doubtful, enqueued, running, cancelled, finished, silenced;
byte suspensions;

#define MAY_RUN (suspensions == 0 && !inactive && !finished && !registering)
#ifdef EAGER_FINISH
#define HAS_WORK (MAY_RUN && (cancelled || announcing || pending))
#elif defined(BLIND_DELIVERY)
#define HAS_WORK (MAY_RUN && (announcing || pending || (cancelled && !registered)))
#else
#define HAS_WORK (MAY_RUN && (cancelled -> !registered : (announcing || pending)))
#endif

// The descriptor table and what the descriptor has.
bool locked, listed, armed;
byte unread;

// The job, on its way to a worker.
byte jobs;

// What is checked.
byte inside;              // handlers that run
byte cancelRuns, registrationRuns;
bool hasHandler = !LATE;  // a registration handler is in its place
byte references;          // the source's own, or one that an activator has taken in advance
bool over;                // the source's own has been given up
byte ended;               // threads that are done

// Everything that is not its user's touches a source that is alive.
#define ALIVE assert(references > 0 && !over)

inline submit() {
  atomic { assert(jobs == 0); jobs++ }
}

// Inside an atomic block.
inline enqueueIfNeeded(must) {
  must = (!enqueued && HAS_WORK);
  enqueued = enqueued || must
}

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

// `unwatch`, then `didUnregister`.
inline unregister(must) {
  lock(); listed = false; unlock();
  atomic { registered = false; enqueueIfNeeded(must) };
  if :: must -> submit() :: else -> skip fi
}

inline cancel(must, mustUnregister) {
  atomic {
    must = false; mustUnregister = false;
    if
    :: cancelled -> skip
    :: else ->
      cancelled = true;
#ifndef BLIND_DELIVERY
      pending = false; doubtful = false; announcing = false;
#endif
      if
      :: registered -> mustUnregister = true
      :: else -> enqueueIfNeeded(must)
      fi
    fi
  };
  if
  :: must -> submit()
  :: mustUnregister -> unregister(must)
  :: else -> skip
  fi
}

// The reference is taken first: once the step is done, others may bring the source to its end. A thread that was late returns it.
inline activate(must, mustRegister, mine) {
#if !defined(RETAIN_LATE) && !defined(NO_RETAIN_WHEN_SUSPENDED)
  references++;
#endif
  atomic {
    must = false; mustRegister = false;
    mine = inactive;
#ifdef NO_RETAIN_WHEN_SUSPENDED
    mine = inactive && !(cancelled && suspensions > 0);
#endif
    if
    :: !inactive -> skip
    :: else ->
      inactive = false;
      if
      :: cancelled -> enqueueIfNeeded(must)
      :: else -> registering = true; mustRegister = true
      fi
    fi
  };
#if defined(RETAIN_LATE) || defined(NO_RETAIN_WHEN_SUSPENDED)
  if :: mine -> references++ :: else -> skip fi;
#else
  if :: !mine -> assert(references > 0); references-- :: else -> skip fi;
#endif
  if
  :: must -> submit()
  :: mustRegister -> register(must, mustRegister)
  :: else -> skip
  fi
}

inline register(must, mustUnregister) {
  if
  :: lock(); listed = true; armed = true; unlock();
    atomic {
      must = false; mustUnregister = false;
      registering = false; registered = true;
      if
#ifndef REGISTRAR_FORGETS
      :: cancelled -> mustUnregister = true
#endif
      :: else -> announcing = true; enqueueIfNeeded(must)
      fi
    }
  :: atomic {  // refused
      must = false; mustUnregister = false;
      registering = false; pending = false; doubtful = false; cancelled = true;
      enqueueIfNeeded(must)
    }
  fi;
  if
  :: must -> submit()
  :: mustUnregister -> unregister(must)
  :: else -> skip
  fi
}

proctype activator() {
  bool must, other, mine;
  activate(must, other, mine);
  ended++
}

// Sets the registration handler: before the activation, or at any time later.
proctype setter() {
  bool must;
#ifndef STEP_BEFORE_HANDLER
  hasHandler = true;
#endif
  atomic {
    if
    :: registered && !cancelled -> announcing = true; enqueueIfNeeded(must)
    :: else -> skip
    fi
  };
#ifdef STEP_BEFORE_HANDLER
  hasHandler = true;
#endif
  if :: must -> submit() :: else -> skip fi;
  ended++
}

proctype canceller() {
  bool must, other;
  if :: cancel(must, other) :: skip fi;
  ended++
}

// Suspends twice, so that one resume is not enough; or resumes a source that is not suspended, which activates it.
proctype suspender() {
  bool must, other, mine;
#ifdef ACTIVATE_TWICE
  activate(must, other, mine);
#endif
  atomic { suspensions = suspensions + 2; doubtful = doubtful || pending };
  atomic { suspensions--; enqueueIfNeeded(must) };
  assert(!must);
  atomic { suspensions--; enqueueIfNeeded(must) };
  if :: must -> submit() :: else -> skip fi;
  ended++
}

proctype writer() {
  byte n;
  for (n : 1 .. WRITES) { unread++ };
  ended++
}

// The holder of the poller's role.
proctype kernel() {
  bool must, silence;
end:
  do
  :: atomic { !locked && listed && armed && unread > 0 -> locked = true };
    ALIVE;
    atomic {
      must = false; silence = false;
      if
      :: cancelled -> silence = true
      :: !cancelled && pending -> silenced = true; silence = true
      :: else -> pending = true; doubtful = doubtful || suspensions > 0 || running; enqueueIfNeeded(must)
      fi
    };
    if :: must -> submit() :: else -> skip fi;
#ifdef UNLOCKED_REPORT
    unlock();
    if :: silence -> armed = false :: else -> skip fi;
#else
    if :: silence -> armed = false :: else -> skip fi;
    unlock();
#endif
    atomic { must = false; silence = false }
  od
}

inline enter() { atomic { inside++; assert(inside == 1) } }
inline leave() { inside-- }

inline handle(must, other) {
  enter();
  if :: unread > 0 -> unread-- :: atomic { unread > 0 -> unread = 0 } :: else -> skip fi;
  if :: cancel(must, other) :: skip fi;
  leave()
}

inline end(must) {
  ALIVE;
#ifdef EARLY_CLEAR
  atomic { running = false; enqueueIfNeeded(must) };
#else
  atomic {
    running = false;
#ifdef END_FORGETS
    must = false;
#else
    must = HAS_WORK;
#endif
    enqueued = must
  };
#endif
  if :: must -> submit() :: else -> skip fi
}

proctype worker() {
  bool must, other, wasDoubtful, wasSilenced;
end_:
  do
  :: atomic { jobs > 0 -> jobs-- };
    ALIVE;
    if
    :: atomic { !(HAS_WORK) -> enqueued = false }
#ifdef BLIND_DELIVERY
    :: atomic { HAS_WORK && !announcing && !pending -> finished = true };
#else
    :: atomic { HAS_WORK && cancelled -> finished = true };
#endif
      enter();
      assert(!listed && !registered);
      cancelRuns++;
      leave();
      atomic { ALIVE; references--; over = true }
#ifdef BLIND_DELIVERY
    :: atomic { HAS_WORK && announcing -> assert(!cancelled); running = true; announcing = false };
#else
    :: atomic { HAS_WORK && !cancelled && announcing -> running = true; announcing = false };
#endif
      enter();
      atomic { if :: hasHandler -> hasHandler = false; registrationRuns++ :: else -> skip fi };
      leave();
      end(must)
    :: atomic {
#ifdef BLIND_DELIVERY
        HAS_WORK && pending && !announcing ->
#else
        HAS_WORK && !cancelled && !announcing ->
#endif
        assert(!cancelled && pending);
        running = true;
        wasDoubtful = doubtful; wasSilenced = silenced;
#ifndef PENDING_AFTER
        pending = false;
#endif
#ifdef EARLY_CLEAR
        enqueued = false;
#endif
        doubtful = false; silenced = false
      };
      if
      :: wasDoubtful && unread == 0 -> skip
      :: else -> handle(must, other)
      fi;
#ifdef PENDING_AFTER
      pending = false;
#endif
#ifndef SILENCED_FORGOTTEN
      // `rearm`
      if
      :: wasSilenced -> lock(); armed = armed || listed; unlock()
      :: else -> skip
      fi;
#endif
      end(must)
    fi;
    atomic { must = false; other = false; wasDoubtful = false; wasSilenced = false }
  od
}

// At rest.
proctype checker() {
  timeout ->
  assert(ended == 4 + LATE && !inactive && !registering && suspensions == 0 && jobs == 0 && inside == 0 && !locked);
  if
  :: cancelled ->
    assert(finished && cancelRuns == 1 && !listed && !registered && over && references == 0);
    assert(registrationRuns <= 1)
  :: else ->
    assert(!finished && cancelRuns == 0 && registrationRuns == 1 && references == 1);
    assert(!enqueued && !pending && unread == 0 && listed && armed && !silenced)
  fi
}

init {
  atomic {
    run activator(); run canceller(); run suspender(); run writer(); run kernel(); run worker(); run worker();
    run checker();
    if :: LATE -> run setter() :: else -> skip fi
  }
}

ltl ends { [] ((cancelled && ended == 4 + LATE) -> <> finished) }
