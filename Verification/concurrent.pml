// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The concurrent lane: readers and barriers on one state word. LaneState and Lane+{Enqueue,Drain,Sync,Suspend}, for
// `kind == .concurrent`. Two threads submit two items each; K0, K1 are the kinds of the first thread's items, K2, K3 of the
// second's: 0 async reader, 1 async barrier, 2 sync reader, 3 sync barrier. Two workers run activations and redirected readers.
//
// Properties: a barrier runs alone; no more readers run than the limit allows; each item runs once; of two items of one thread of which one is a barrier the first
// has ended when the second starts; after suspend has returned at most one more item is chosen; a waiter that is handed
// the lane owns it; when nothing can move everything has run and the lane is free.
//
// check: safety -DK0=0 -DK1=1 -DK2=0 -DK3=3
// check: safety -DK0=2 -DK1=3 -DK2=1 -DK3=2
// check: safety -DK0=3 -DK1=0 -DK2=2 -DK3=1
// check: safety -DK0=2 -DK1=2 -DK2=3 -DK3=3
// check: safety -DK0=1 -DK1=2 -DK2=0 -DK3=1 -DOVERTAKE
// check: safety -DK0=0 -DK1=0 -DK2=1 -DK3=3 -DFULL=1 -DSUSPEND
// check: safety -DK0=2 -DK1=1 -DK2=0 -DK3=3 -DSUSPEND
// check: safety -DK0=2 -DK1=0 -DK2=3 -DK3=2 -DSUSPEND
// check: safety -DK0=0 -DK1=0 -DK2=0 -DK3=2 -DFULL=1
// check: safety -DK0=0 -DK1=2 -DK2=1 -DK3=0 -DFULL=1
// check: safety -DK0=2 -DK1=2 -DK2=0 -DK3=2 -DFULL=1 -DOVERTAKE
// check: safety -DK0=0 -DK1=0 -DK2=2 -DK3=0 -DFULL=2
// check: safety -DK0=0 -DK1=2 -DK2=0 -DK3=3 -DFULL=1 -DSUSPEND
// check: safety -DK0=0 -DK1=0 -DK2=0 -DK3=2 -DFULL=1 -DTAKES_ROOM=0
// expect: fail
// check: safety -DK0=0 -DK1=1 -DK2=0 -DK3=3 -DNO_TAKEOVER
// expect: fail
// check: safety -DK0=1 -DK1=2 -DK2=1 -DK3=3 -DNO_TAIL_CHECK
// expect: fail
// check: safety -DK0=2 -DK1=1 -DK2=0 -DK3=3 -DJOIN_BESIDE_READERS
// expect: fail
// check: safety -DK0=2 -DK1=1 -DK2=0 -DK3=3 -DSUSPEND -DTAKEOVER_FORGETS_DIRTY
// expect: fail
//
// Abstracted: bands, but for the overtaking activation and whether there is an urgency at all; targets; retains. FULL is the
// queue's limit (Lane.L7); 9 stands for none. The list is that of lane.pml.

#define ITEMS 4
#ifndef FULL
#define FULL 9
#endif

#ifndef TAKES_ROOM
#define TAKES_ROOM 1
#endif
#define LIMITED (FULL < 9)
#define IS_BARRIER(it) (kind[it] == 1 || kind[it] == 3)
#define IS_WAITER(it) (kind[it] >= 2)
// Items 0, 1 are submitted by thread 1, items 2, 3 by thread 2.
#define THREAD(it) (it / 2 + 1)

// The state word.
byte owner = 0;
byte readers = 0;
bool enqueued = false;
bool sent = false;        // an activation is on its way (Lane.L8); there is one band
bool dirty = false;
bool barrierPending = false;
bool roomPending = false;
bool suspended = false;
bool urgent = false;      // urgency is not 0 (Lane.L6)

#define PENDING (barrierPending || roomPending)
#define TOUCHED (owner != 0 || enqueued || dirty || PENDING || suspended || urgent)

#include "list.inc"

byte kind[ITEMS];
byte activations = 0;
bool redirected[ITEMS];   // on its way through the target
bool token[3];

byte runningReaders = 0;
bool runningBarrier = false;
bool started[ITEMS];
bool done[ITEMS];
bool quiet = false;       // suspend has returned, resume has not begun
bool chosenInQuiet = false;

inline choose() {
  if :: quiet -> assert(!chosenInQuiet); chosenInQuiet = true :: else -> skip fi
}

inline runItem(it) {
  atomic {
    assert(!started[it] && !runningBarrier);
    started[it] = true;
    assert(it % 2 == 0 || done[it - 1] || !(IS_BARRIER(it) || IS_BARRIER(it - 1)));
    if
    :: IS_BARRIER(it) -> assert(runningReaders == 0); runningBarrier = true
    :: else -> runningReaders++; assert(runningReaders <= FULL)
    fi
  };
  atomic {
    done[it] = true;
    if :: IS_BARRIER(it) -> runningBarrier = false :: else -> runningReaders-- fi
  }
}

// In a step: the lane is enqueued.
inline send(mustPush) {
  enqueued = true;
  mustPush = !sent;
  sent = true
}

inline relay() {
  atomic { owner = 0; send(mustPush) };
  if :: mustPush -> activations++ :: else -> skip fi;
  mustPush = false
}

// A thread that has found the list not empty raises the urgency if it sees none.
inline overtake(flag) {
  if
  :: !urgent ->
    atomic {
      flag = false;
      if :: !urgent && enqueued -> send(flag) :: else -> skip fi;
      urgent = true
    };
    if :: flag -> activations++ :: else -> skip fi
  :: urgent -> skip
  fi
}

inline announce(flag) {
  atomic {
    urgent = true;
    dirty = true;
    flag = false;
    if :: owner == 0 && !enqueued && !suspended && !PENDING -> send(flag) :: else -> skip fi
  };
  if :: flag -> activations++ :: else -> skip fi
}

// `tailIsNil`, then the one exchange.
inline enterRead(entered) {
  entered = false;
  if
#ifdef NO_TAIL_CHECK
  :: true ->
#else
  :: tail == NONE ->
#endif
    atomic {
      entered = !TOUCHED && readers < FULL;
      if :: entered -> readers++; choose() :: else -> skip fi
    }
#ifndef NO_TAIL_CHECK
  :: tail != NONE -> skip
#endif
  fi
}

// The last reader may become the owner; any, where a reader waits for room.
inline leaveRead(me, owns) {
  atomic {
    readers--;
    owns = false;
    if
    :: roomPending && TAKES_ROOM || barrierPending && readers == 0 ->
#ifndef NO_TAKEOVER
      barrierPending = false;
      roomPending = false;
      if
      :: suspended ->
#ifndef TAKEOVER_FORGETS_DIRTY
        dirty = true
#else
        skip
#endif
      :: !suspended && owner == 0 && !enqueued -> owner = me; owns = true
      :: else -> skip
      fi
#else
      skip
#endif
    :: else -> skip
    fi
  }
}

// What an owner does until the lane is no longer its own. `drains`: it runs items of others (drain), else it only passes the
// lane on (releaseOwnership).
inline own(drains, h) {
  do
  :: atomic { suspended -> dirty = true; owner = 0 }; break
  :: atomic { !suspended -> skip };
    if
    :: head == NONE ->
      if
      :: atomic { dirty -> dirty = false }
      :: atomic { !dirty -> owner = 0; urgent = false }; break
      fi
    :: atomic { head != NONE -> h = head };
      if
      // A lane with a limit: a thread that only passes the lane on sends some readers on their way as well, and then relays.
      :: !drains && !IS_WAITER(item[h]) ->
        relay();
        break
      :: drains || IS_WAITER(item[h]) || LIMITED && !IS_BARRIER(item[h]) ->
        if
        :: IS_BARRIER(item[h]) ->
          if :: atomic { readers > 0 -> owner = 0; barrierPending = true }; break :: atomic { readers == 0 -> skip } fi
        :: else ->
          if
          :: atomic { readers >= FULL -> owner = 0; roomPending = true }; break
          :: atomic { readers < FULL -> readers++; choose() }
          fi
        fi;
        pop(h);
        if
        :: IS_BARRIER(item[h]) ->
          atomic { choose() };
          if
          :: IS_WAITER(item[h]) ->
            owner = THREAD(item[h]);
            token[THREAD(item[h])] = true;
            break
          :: else ->
            runItem(item[h]);
            // The drainer's turn may be over.
            if :: relay(); break :: skip fi
          fi
        :: else ->
          if :: IS_WAITER(item[h]) -> token[THREAD(item[h])] = true :: else -> redirected[item[h]] = true fi
        fi
      fi
    fi
  od
}

inline asyncItem(it) {
  flag = false;
  if :: !IS_BARRIER(it) -> enterRead(flag) :: else -> skip fi;
  if
  :: flag -> redirected[it] = true
  :: else ->
    push(it, mine, wasEmpty);
    if :: wasEmpty -> announce(flag) :: else -> overtake(flag) fi
  fi
}

inline syncItem(it) {
  if
  :: IS_BARRIER(it) ->
    flag = false;
    if
    :: tail == NONE ->
      atomic {
        flag = !TOUCHED && readers == 0;
        if :: flag -> owner = me; choose() :: else -> skip fi
      }
    :: tail != NONE -> skip
    fi
  :: else -> enterRead(flag)
  fi;
  if
  :: flag -> skip
  :: else ->
    push(it, mine, wasEmpty);
    if
    :: wasEmpty ->
      atomic { // join
        urgent = true;
        if
        :: owner != 0 || enqueued || suspended || PENDING -> dirty = true
        :: else ->
          if
#ifndef JOIN_BESIDE_READERS
          :: IS_BARRIER(it) && readers > 0 -> barrierPending = true
#endif
          :: else -> dirty = false; owner = me; flag = true
          fi
        fi
      }
    :: else -> overtake(flag); flag = false
    fi;
    if
    :: flag && IS_BARRIER(it) -> assert(head == mine); h = head; pop(h); atomic { choose() }
    :: else ->
      if
      :: flag -> own(false, h)
      :: else -> skip
      fi;
      atomic { token[me] -> token[me] = false }
    fi;
    assert(!IS_BARRIER(it) || owner == me)
  fi;
  runItem(it);
  if
  :: IS_BARRIER(it) ->
    if
    :: atomic { owner == me && !enqueued && !dirty && !suspended && !urgent && !PENDING && readers == 0 -> owner = 0 }
    :: atomic { enqueued || dirty || suspended || urgent || PENDING || readers > 0 -> skip }; own(false, h)
    fi
  :: else ->
    leaveRead(me, flag);
    if :: flag -> own(false, h) :: else -> skip fi
  fi
}

proctype client(byte me) {
  byte mine, h, it, last;
  bool wasEmpty, flag, mustPush;
  it = (me - 1) * 2;
  last = it + 1;
  do
  :: it <= last ->
    if
    :: IS_WAITER(it) -> syncItem(it)
    :: else -> asyncItem(it)
    fi;
    atomic { it++; mine = 0; h = 0; flag = false; wasEmpty = false }
  :: it > last -> break
  od
}

proctype worker(byte me) {
  byte h, it;
  bool mine, mustPush;
idle:
  atomic { h = 0; it = 0; mine = false };
end_idle:
  if
  :: atomic { activations > 0 -> activations-- };
    atomic { // arrive
      sent = false;
      if
      :: owner != 0 || !enqueued && !dirty && !PENDING -> skip
      :: else ->
        enqueued = false;
        if
        :: suspended -> dirty = true
        :: !suspended && barrierPending && readers > 0 -> skip
        :: else -> dirty = false; barrierPending = false; roomPending = false; owner = me; mine = true
        fi
      fi
    };
    if :: mine -> own(true, h) :: else -> skip fi
  :: atomic { redirected[0] -> redirected[0] = false; it = 0 }; goto runRedirected
  :: atomic { redirected[1] -> redirected[1] = false; it = 1 }; goto runRedirected
  :: atomic { redirected[2] -> redirected[2] = false; it = 2 }; goto runRedirected
  :: atomic { redirected[3] -> redirected[3] = false; it = 3 }; goto runRedirected
  fi;
  goto idle;
runRedirected:
  runItem(it);
  leaveRead(me, mine);
  if :: mine -> own(false, h) :: else -> skip fi;
  goto idle
}

proctype suspender() {
  bool mustPush;
  atomic { suspended = true; quiet = true };
  atomic {
    quiet = false;
    suspended = false;
    if :: dirty && owner == 0 && !enqueued && !PENDING -> send(mustPush) :: else -> skip fi
  };
  if :: mustPush -> activations++ :: else -> skip fi
}

// Something more urgent joins while an activation is on its way: a second one is pushed, in another band.
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
  assert(owner == 0 && readers == 0 && !enqueued && !PENDING && activations == 0 && tail == NONE)
}

init {
  atomic {
    kind[0] = K0; kind[1] = K1; kind[2] = K2; kind[3] = K3;
    run client(1); run client(2);
    run worker(3); run worker(4);
#ifdef SUSPEND
    run suspender();
#endif
#ifdef OVERTAKE
    run overtaker();
#endif
    run judge()
  }
}
