// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The serial lane: LaneState and Lane+{Enqueue,Drain,Sync,Suspend}. Two threads submit (async, then sync), two workers
// drain activations, one of which may have been overtaken and come late, and a third thread suspends and resumes.
//
// Properties: items run one at a time, each once, a thread's items in its order (so a sync runs after the asyncs before it);
// after suspend at most the item that had been chosen starts; when nothing can move everything has run and the lane is free.
//
// check: safety
// check: safety -DSUSPEND
// check: safety -DOVERTAKE
// check: safety -DNO_DIRTY
// expect: fail
// check: safety -DNO_TAIL_CHECK
// expect: fail
// check: safety -DNO_URGENCY
// expect: fail
//
// Abstracted: bands, but for the overtaking activation and whether there is an urgency at all; targets; retains. The list is an array in order of the tail
// exchange; publication of the head and of the links lags behind, as in MPSCList.

#define ITEMS 4
#define NONE 15

// The state word.
byte owner = 0;
bool enqueued = false;
bool dirty = false;
bool suspended = false;
bool urgent = false;      // urgency is not 0: somebody has been in the list since the lane was last idle (L6)

// The list: entry n was the n-th to exchange the tail.
byte count = 0;
byte item[ITEMS + 1];
bool linked[ITEMS + 1]; // the link from n to n + 1 is published
byte tail = NONE;
byte head = NONE;

byte activations = 0;
bool running = false;
bool done[ITEMS];
byte startedSuspended = 0;
bool quiet = false;       // suspend has returned, resume has not begun
bool token[3];

#define IDLE (owner == 0 && !enqueued && !dirty && !suspended && !urgent)

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

inline push(it, mine, wasEmpty) {
  atomic { mine = count; count++; item[mine] = it; wasEmpty = (tail == NONE); tail = mine };
  if
  :: wasEmpty -> head = mine
  :: else -> linked[mine - 1] = true
  fi
}

// The owner takes entry h, the head, off.
inline pop(h) {
  if
  :: linked[h] -> head = h + 1
  :: else ->
    head = NONE;
    if
    :: atomic { tail == h -> tail = NONE }
    :: atomic { tail != h -> skip }; linked[h]; head = h + 1
    fi
  fi
}

// Items 1 and 3 are waiters of threads 1 and 2.
#define IS_WAITER(it) (it == 1 || it == 3)
#define WAITER(it) (it == 1 -> 1 : 2)

inline announce(mustPush) {
  atomic {
    mustPush = false;
    urgent = true;
#ifdef NO_DIRTY
    if :: owner == 0 -> dirty = true :: else -> skip fi;
#else
    dirty = true;
#endif
    if
    :: owner == 0 && !enqueued && !suspended -> enqueued = true; mustPush = true
    :: else -> skip
    fi
  };
  if :: mustPush -> activations++ :: else -> skip fi
}

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
    :: atomic { !dirty -> owner = 0; urgent = false }; break
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
      atomic { owner = 0; enqueued = true };
      activations++;
      break
    fi
  od
}

// Thread `me` makes its first item an async, its second a sync.
proctype client(byte me) {
  byte mine, h, first;
  bool wasEmpty, flag;
  first = (me - 1) * 2;

  push(first, mine, wasEmpty);
  if :: wasEmpty -> announce(flag) :: else -> skip fi;

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
        urgent = true;
#endif
        if
        :: owner != 0 || enqueued || suspended -> dirty = true
        :: else -> dirty = false; owner = me; flag = true
        fi
      }
    :: else -> skip
    fi;
    if
    :: flag -> assert(head == mine); h = head; pop(h)
    :: else -> atomic { token[me] -> token[me] = false }; assert(owner == me)
    fi
  fi;
  start(first + 1);
  if
  :: atomic { owner == me && !enqueued && !dirty && !suspended && !urgent -> owner = 0 }
  :: atomic { enqueued || dirty || suspended || urgent -> skip }; releaseOwnership(h)
  fi
}

proctype worker(byte me) {
  byte h;
  bool mine;
end_idle:
  atomic { activations > 0 -> activations-- };
  atomic {
    enqueued = false;
    if
    :: owner != 0 || suspended -> dirty = true; mine = false
    :: else -> dirty = false; owner = me; mine = true
    fi
  };
  if
  :: !mine -> goto end_idle
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
    :: atomic { !dirty -> owner = 0; urgent = false }; break
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
  goto end_idle
}

proctype suspender() {
  bool mustPush;
  suspended = true;
  quiet = true;
  skip;
  atomic {
    quiet = false;
    suspended = false;
    mustPush = dirty && owner == 0 && !enqueued;
    if :: mustPush -> enqueued = true :: else -> skip fi
  };
  if :: mustPush -> activations++ :: else -> skip fi
}

// Something more urgent joins while an activation is on its way: a second one is pushed.
proctype overtaker() {
  bool mustPush;
  atomic { mustPush = enqueued };
  if :: mustPush -> activations++ :: else -> skip fi
}

proctype judge() {
  byte index;
end_watch:
  timeout;
  for (index : 0 .. ITEMS - 1) { assert(done[index]) };
  assert(owner == 0 && !enqueued && activations == 0 && tail == NONE)
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
    run judge()
  }
}
