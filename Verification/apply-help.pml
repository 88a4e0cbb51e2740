// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// Callers of `concurrentPerform`, and the monitor that looks after the calls that still go on at its second look:
// Engine/ApplyHelpRegistry.swift, Dispatch/Queues/ApplyCall.swift and the monitor's way to sleep.
//
// A call is memory of its caller: `inside` says whether the caller is in the call, so that the memory is there. A caller
// calls several times from the same stack depth, so the pointer, here its number, is the same each time. A call may need help
// to end, as one does whose first piece waits for a later one.
//
// Properties: the monitor touches a call only while its caller is inside (assertions). No caller waits
// for ever: neither for the monitor to let go, nor for help that it needs while the monitor sleeps (invalid end states).
//
// check: safety -DCALLERS=3 -DROUNDS=1
// check: safety
// check: safety -DPLACES=2
// check: safety -DUNCONDITIONAL_LEAVE
// expect: fail
// check: safety -DNO_WAIT
// expect: fail
// check: safety -DLEAVES_ONCE
// expect: fail
// check: safety -DUNCONDITIONAL_TAKE
// expect: fail
// check: safety -DNO_LOOK_AFTER
// expect: fail
// check: safety -DWAKES_FIRST
// expect: fail
//
// Abstracted: what help is; a caller that finds no place does not take part here.

#ifndef CALLERS
#define CALLERS 2
#endif
#ifndef PLACES
#define PLACES 1
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif

#define AWAKE 1
#define ASLEEP 0
#define MARK 16

byte place[PLACES];        // 0, or the caller's number; with the mark while the monitor looks after the call
byte monitorState = ASLEEP;
bool inside[CALLERS + 1];  // the caller is in the call: its memory is the lone call's
bool helped[CALLERS + 1];  // in that memory

inline wake() {
  if
  :: monitorState != AWAKE -> monitorState = AWAKE
  :: else -> skip
  fi
}

proctype caller(byte me) {
  byte p = 0, rounds = 0;
  bool entered;
  do
  :: rounds < ROUNDS ->
    rounds++;
    atomic { helped[me] = false; inside[me] = true };
#ifdef WAKES_FIRST
    wake();
#endif
    // enter: a compare and exchange, place after place
    p = 0;
    entered = false;
    do
    :: p < PLACES && !entered ->
      atomic {
        if
        :: place[p] == 0 -> place[p] = me; entered = true
        :: else -> p++
        fi
      }
    :: else -> break
    od;
    if
    :: !entered -> skip
    :: else ->
#ifndef WAKES_FIRST
      wake();
#endif
      // The call ends by itself, or needs help.
      if
      :: true -> skip
      :: true -> helped[me]
      fi;
      // leave
#ifdef UNCONDITIONAL_LEAVE
      place[p] = 0;
#else
      do
      :: atomic { place[p] == me -> place[p] = 0 }; break
#ifdef LEAVES_ONCE
      :: place[p] == me + MARK ->
        place[p] != me + MARK;
        atomic { if :: place[p] == me -> place[p] = 0 :: else -> skip fi };
        break
#endif
#ifdef NO_WAIT
      :: place[p] != me -> break
#else
      :: place[p] != me && place[p] != me + MARK -> break
#endif
      od;
#endif
      skip
    fi;
    inside[me] = false
  :: else -> break
  od
}

proctype monitor() {
  byte p, lone, seen[PLACES];
  bool taken, any;
  do
  :: monitorState == AWAKE ->
    // One look.
    p = 0;
    do
    :: p < PLACES ->
      lone = place[p];
      if
      :: lone != 0 && lone == seen[p] ->
        atomic {
#ifdef UNCONDITIONAL_TAKE
          taken = true;
          place[p] = lone + MARK
#else
          taken = (place[p] == lone);
          if :: taken -> place[p] = lone + MARK :: else -> skip fi
#endif
        };
        if
        :: taken ->
          assert(inside[lone]);
          helped[lone] = true;
          assert(inside[lone]);
          // It puts the call back, or dismisses it.
          if
          :: true -> place[p] = lone
          :: true -> place[p] = 0
          fi
        :: else -> skip
        fi
      :: else -> seen[p] = lone
      fi;
      p++
    :: else -> break
    od;
    // It may fall asleep at any time: first asleep, then the last look.
    if
    :: true -> skip
    :: true ->
#ifdef NO_LOOK_AFTER
      any = false;
      p = 0;
      do :: p < PLACES -> any = any || place[p] != 0; p++ :: else -> break od;
      if :: !any -> monitorState = ASLEEP :: else -> skip fi
#else
      monitorState = ASLEEP;
      any = false;
      p = 0;
      do :: p < PLACES -> any = any || place[p] != 0; p++ :: else -> break od;
      if :: any -> monitorState = AWAKE :: else -> skip fi
#endif
    fi;
end:
    monitorState == AWAKE
  od
}

init {
  atomic {
    byte i = 1;
    do :: i <= CALLERS -> run caller(i); i++ :: else -> break od;
    run monitor()
  }
}
