// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The poller's holder against threads that add and cancel timers: what is announced in `until`, and when it is interrupted.
// Instants are small numbers; the clock moves on whenever it likes.
//
// Property: when no other thread can do anything and the clock is over, the holder has fired every timer that was not
// cancelled; it does not sleep over one.
//
// check: safety
// check: safety -DADDERS=1 -DROUNDS=3
// check: safety -DSLEEPS_LONGER
// expect: fail
// check: safety -DNO_LOOK_AFTER
// expect: fail
// check: safety -DANNOUNCES_LATE
// expect: fail
//
// Abstracted: the wheel (a set of instants), several clocks, passing the role on (Verification/sleep.pml).

#ifndef ADDERS
#define ADDERS 2
#endif

#ifndef ROUNDS
#define ROUNDS 1
#endif
#define NEVER 5
#define END 4

byte now = 1;
byte earliest = NEVER;     // the timers' word, kept under their lock
byte due[ADDERS] = NEVER;  // each adder's timer
byte until = 0;            // 0 while the holder is awake
byte sleepsTo = 0;         // what the kernel was told
bool asleep, interrupted;
byte done;

// Under the timers' lock.
inline note() {
  earliest = NEVER;
  i = 0;
  do
  :: i < ADDERS -> if :: due[i] < earliest -> earliest = due[i] :: else -> skip fi; i++
  :: else -> break
  od;
  i = 0
}

proctype clock() {
  do
  :: now < END -> now++
  :: now == END -> break
  od
}

// Adds its timer, and may take it back or move it.
proctype adder(byte me) {
  byte i, before, at, seen, rounds = 0;
  bool sooner;
  do
  :: rounds < ROUNDS ->
    select(at : 2 .. 3);
    atomic { before = earliest; due[me] = at; note(); sooner = (earliest < before) };
    if
    :: sooner ->
      seen = until;
      if
      :: seen != 0 && at < seen -> interrupted = true
      :: else -> skip
      fi
    :: else -> skip
    fi;
    rounds++; seen = 0; before = 0; sooner = false;
    if
    :: atomic { due[me] != NEVER -> due[me] = NEVER; note() }
    :: skip
    fi
  :: else -> break
  od;
  done++
}

proctype holder() {
  byte i, announced, wanted;
  do
  :: // wait
#ifdef ANNOUNCES_LATE
     announced = earliest; wanted = earliest; until = announced;
#else
     announced = earliest;
     until = announced;
     wanted = earliest;
#endif
#ifdef NO_LOOK_AFTER
     wanted = announced;
#elif !defined(SLEEPS_LONGER)
     wanted = (announced < wanted -> announced : wanted);
#endif
     atomic { sleepsTo = wanted; asleep = true };
end: atomic { (interrupted || now >= sleepsTo) -> interrupted = false; asleep = false; sleepsTo = 0 };
     until = 0; announced = 0; wanted = 0;
     // fire
     atomic {
       i = 0;
       do
       :: i < ADDERS -> if :: due[i] <= now -> due[i] = NEVER :: else -> skip fi; i++
       :: else -> break
       od;
       note()
     }
  od
}

// At rest all adders are done, the clock is over, and the holder sleeps without a reason to wake up.
proctype judge() {
  atomic {
    (done == ADDERS && now == END && asleep && !interrupted && sleepsTo > now) -> assert(earliest == NEVER)
  }
}

init {
  byte n = 0;
  atomic {
    do
    :: n < ADDERS -> run adder(n); n++
    :: else -> break
    od;
    run clock(); run holder(); run judge()
  }
}
