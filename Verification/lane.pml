// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The serial lane: LaneState and Lane+{Enqueue,Drain,Sync,Suspend}. Two threads submit (async, then sync), two workers
// drain activations, one of which may have been overtaken and come late, and a third thread suspends and resumes. With BANDS
// the second thread's items are more urgent than the first one's, which are both asyncs: a low activation is overtaken and left
// over, and the next low work adopts it. With FEW the second thread has no sync. With MOVE another thread gives the idle lane a new target; what is on its way through
// the former one may stay there for ever.
//
// Properties: items run one at a time, each once, a thread's items in its order (so a sync runs after the asyncs before it);
// after suspend at most the item that had been chosen starts; when nothing can move everything has run and the lane is free;
// no more than one activation of a band is on its way through a target (Lane.L8).
//
// check: safety
// check: safety -DSUSPEND
// check: safety -DOVERTAKE
// check: safety -DBANDS
// check: safety -DBANDS -DFEW -DSUSPEND
// check: safety -DBANDS -DFEW -DMOVE
// check: safety -DBANDS -DNO_ADOPTION
// expect: fail
// check: safety -DBANDS -DCLEARS_WHEN_CALLED
// expect: fail
// check: safety -DBANDS -DCLEARS_LATE
// expect: fail
// check: safety -DBANDS -DADOPTS_ANY
// expect: fail
// check: safety -DBANDS -DFEW -DMOVE -DNO_FORGETTING
// expect: fail
// check: safety -DNO_DIRTY
// expect: fail
// check: safety -DNO_TAIL_CHECK
// expect: fail
// check: safety -DNO_URGENCY
// expect: fail
//
// Abstracted: bands, but for two of them; retains. The list is an array in order of the tail exchange; publication of the head
// and of the links lags behind, as in MPSCList.

#define ITEMS 4

// The state word.
byte owner = 0;
bool enqueued = false;
bool dirty = false;
bool suspended = false;
byte urgency = 0;         // 0: no item has been in the list since the lane was last idle (Lane.L6)
bool sent[3];

#include "list.inc"

byte activations[3];      // on their way through the target, by band
#ifdef MOVE
byte strays[3];           // through the former target
bool moved = false;
bool straysCome = false;
#endif
bool running = false;
bool done[ITEMS];
byte startedSuspended = 0;
bool quiet = false;       // suspend has returned, resume has not begun
bool token[3];

#define IDLE (owner == 0 && !enqueued && !dirty && !suspended && urgency == 0)
#define BAND (urgency == 0 -> 1 : urgency)
#ifdef BANDS
#define URGENCY(it) (it >= 2 -> 2 : 1)
#else
#define URGENCY(it) 1
#endif

inline start(it) {
  atomic {
    assert(!running); assert(!done[it]);
    running = true;
    // Items 0, 1 belong to one thread, 2, 3 to the other; each in order.
    assert(it == 0 || it == 2 || done[it - 1]);
    if :: quiet -> startedSuspended++; assert(startedSuspended <= 1) :: else -> skip fi
  };
  atomic { done[it] = true; running = false }
}

// Items 1 and 3 are waiters of threads 1 and 2.
#ifdef BANDS
#define IS_WAITER(it) (it == 3)
#else
#define IS_WAITER(it) (it == 1 || it == 3)
#endif
#define WAITER(it) (it == 1 -> 1 : 2)

#include "lane-steps.inc"

// Gives the lane up on a thread that runs no items of others.
inline releaseOwnership(h) {
  do
  :: suspended ->
    if
    :: atomic { suspended -> dirty = true; owner = 0 }; break
    :: atomic { !suspended -> skip }
    fi
  :: !suspended && head == NONE ->
    if
    :: atomic { dirty -> dirty = false }
    :: atomic { !dirty -> owner = 0; urgency = 0 }; break
    fi
  :: !suspended && head != NONE ->
    h = head;
    if
    :: IS_WAITER(item[h]) ->
      pop(h);
      owner = WAITER(item[h]);
      token[WAITER(item[h])] = true;
      break
    :: else ->
      atomic { owner = 0; send() };
      answer();
      break
    fi
  od
}

// Where a pusher keeps what a step has left to it.
#ifdef MOVE
#define DEBT byte band; bool mustPush; bool sentBefore
#else
#define DEBT byte band; bool mustPush
#endif

// Thread `me` makes its first item an async, its second a sync.
proctype client(byte me) {
  byte mine, h, first;
  bool wasEmpty, flag;
  DEBT;
  first = (me - 1) * 2;

  push(first, mine, wasEmpty);
  announce(wasEmpty, first);
#ifdef BANDS
  if
  :: me == 1 ->
    push(first + 1, mine, wasEmpty);
    announce(wasEmpty, first + 1);
    goto end
  :: else -> skip
  fi;
#ifdef FEW
  done[first + 1] = true;
  goto end;
#endif
#endif

  // sync, fast
  flag = false;
#ifdef NO_TAIL_CHECK
  if
  :: atomic { IDLE -> owner = me; flag = true }
  :: atomic { !IDLE -> skip }
  fi;
#else
  if
  :: tail == NONE ->
    if
    :: atomic { IDLE -> owner = me; flag = true }
    :: atomic { !IDLE -> skip }
    fi
  :: tail != NONE -> skip
  fi;
#endif
  if
  :: flag -> skip
  :: else ->
    push(first + 1, mine, wasEmpty);
    if
    :: wasEmpty ->
      atomic {
#ifndef NO_URGENCY
        if
        :: urgency < URGENCY(first + 1) ->
          urgency = URGENCY(first + 1);
          if :: enqueued -> send() :: else -> skip fi
        :: else -> skip
        fi;
#endif
        if
        :: owner != 0 || enqueued || suspended -> dirty = true
        :: else -> dirty = false; owner = me; flag = true
        fi
      }
    :: else -> overtake(first + 1)
    fi;
    answer();
    if
    :: flag -> assert(head == mine); h = head; pop(h)
    :: else -> atomic { token[me] -> token[me] = false }; assert(owner == me)
    fi
  fi;
  start(first + 1);
  if
  :: atomic { owner == me && !enqueued && !dirty && !suspended && urgency == 0 -> owner = 0 }
  :: atomic { enqueued || dirty || suspended || urgency != 0 -> skip }; releaseOwnership(h)
  fi;
end:
  skip
}

proctype worker(byte me) {
  byte h, arrived;
  bool mine;
  DEBT;
idle:
  atomic { h = 0; band = 0 };
end_idle:
  if
  :: atomic { activations[1] > 0 -> activations[1]--; arrived = 1 }
  :: atomic { activations[2] > 0 -> activations[2]--; arrived = 2 }
#ifdef MOVE
  :: atomic { straysCome && strays[1] > 0 -> strays[1]--; arrived = 1 };
    arrive();
    goto goOn
  :: atomic { straysCome && strays[2] > 0 -> strays[2]--; arrived = 2 };
    arrive();
    goto goOn
#endif
  fi;
  arrive();
  if
  :: !mine -> goto idle
  :: mine -> skip
  fi;
  do
  :: suspended ->
    if
    :: atomic { suspended -> dirty = true; owner = 0 }; break
    :: atomic { !suspended -> skip }
    fi
  :: !suspended && head == NONE ->
    if
    :: atomic { dirty -> dirty = false }
    :: atomic { !dirty -> owner = 0; urgency = 0 }; break
    fi
  :: !suspended && head != NONE ->
    h = head;
    pop(h);
    if
    :: IS_WAITER(item[h]) ->
      owner = WAITER(item[h]);
      token[WAITER(item[h])] = true;
      break
    :: else -> start(item[h])
    fi
  od;
  goto idle;
#ifdef MOVE
goOn:
  // It has come through a target that the lane has left: the lane is sent on.
  if
  :: mine -> atomic { owner = 0; send() }; answer()
  :: !mine -> skip
  fi;
  goto idle
#endif
}

proctype suspender() {
  DEBT;
  suspended = true;
  quiet = true;
  skip;
  atomic {
    quiet = false;
    suspended = false;
    if :: dirty && owner == 0 && !enqueued -> send() :: else -> skip fi
  };
  answer()
}

// A second activation in the same band: the bit of the first one was cleared early.
proctype overtaker() {
  if
  :: atomic { enqueued -> activations[1]++ }
  :: skip
  fi
}

#ifdef MOVE
// Nobody runs anything meanwhile.
proctype mover() {
  byte h;
  DEBT;
  if
  :: atomic { tail == NONE && IDLE -> owner = 5 };
    atomic {
#ifndef NO_FORGETTING
      sent[1] = false; sent[2] = false;
#endif
      moved = true;
      strays[1] = activations[1]; strays[2] = activations[2];
      activations[1] = 0; activations[2] = 0
    };
    releaseOwnership(h);
    if :: straysCome = true :: skip fi
  :: skip
  fi
}
#endif

proctype judge() {
  byte index;
end_watch:
  timeout;
  for (index : 0 .. ITEMS - 1) { assert(done[index]) };
  assert(owner == 0 && !enqueued && activations[1] + activations[2] == 0 && tail == NONE);
#ifndef MOVE
  assert(!sent[1] && !sent[2])
#endif
}

init {
  atomic {
    run client(1);
    run client(2);
    run worker(3);
    run worker(4);
#ifdef SUSPEND
    run suspender();
#endif
#ifdef OVERTAKE
    run overtaker();
#endif
#ifdef MOVE
    run mover();
#endif
    run judge()
  }
}
