// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A reading operation of a channel: Sources/GrandCentral/Dispatch/IO/{IOState,IOOperation,IOOperation+Reading,IOOperation+Delivery,IORequest}.swift
// and the wait of IOFile+Waiting.swift. The step reads CHUNKS buffers; each attempt brings one, ends the file, has to wait, or
// becomes a request that others carry out. The handler may be slow. With STOP the channel is stopped at any moment.
//
// Properties: one step at a time; one handler at a time, none after the last; no thread writes into a buffer that is not the
// operation's, or uses the descriptor after the last user; and when nothing can move any more, the handler has been told the
// end once, every buffer is back and no thread uses the file.
//
// check: safety -DCHUNKS=2
// check: safety -DCHUNKS=3 -DSTOP
// check: safety -DCHUNKS=2 -DSTOP -DKICK_IS_LOST
// expect: fail
// check: safety -DCHUNKS=2 -DENDS_BESIDE_HANDLER
// expect: fail
// check: safety -DCHUNKS=1 -DSTOP -DKEEPS_BUFFER
// expect: fail
// check: safety -DCHUNKS=1 -DSTOP -DENTERS_LATE
// expect: fail
// check: safety -DCHUNKS=1 -DSTOP -DIGNORES_RESULT
// expect: fail
// check: safety -DCHUNKS=1 -DSTOP -DSTAYS_WAITING
// expect: fail
// check: safety -DCHUNKS=2 -DRETURN_IS_NO_KICK
// expect: fail
//
// Abstracted: turns and opening (the operation has its turn), marks and intervals (a delivery is due when a buffer is full),
// bytes that a buffer has when its request is abandoned (they are copied).

#define BUFFERS 3
#define NONE 255

#define PENDING 0
#define LANDED 1
#define ABANDONED 2

// The word.
bool running = true;
bool again, landed, cancelled, out;
bool sent = true;

// The step's.
byte remaining = CHUNKS;
bool hasOutcome, isFinished, used, hasRequest;
byte buffer = NONE;

bool inPool[BUFFERS] = true;
byte users = 1;
bool waits;               // the operation is in the wait's word
byte fate;
byte requested = NONE;    // the buffer of a request that is on its way
bool handedOver;

bool handlerSent, isLast, stepping, calling;
byte delivered = NONE;
byte ends = 0;

inline kick(what) {
  atomic {
    what = true;
    if
    :: running ->
#ifndef KICK_IS_LOST
      again = true
#else
      skip
#endif
    :: else -> running = true; assert(!sent); sent = true
    fi
  }
}

inline take() {
  atomic {
    if
    :: inPool[0] -> buffer = 0
    :: !inPool[0] && inPool[1] -> buffer = 1
    :: else -> assert(inPool[2]); buffer = 2
    fi;
    inPool[buffer] = false
  }
}

inline give(index) {
  atomic { assert(!inPool[index]); inPool[index] = true }
}

inline deliver(last) {
  atomic {
    assert(!out && !handlerSent);
    if
    :: used -> delivered = buffer; buffer = NONE; used = false
    :: else -> delivered = NONE
    fi;
    isLast = last;
    out = true;
    handlerSent = true
  }
}

inline land() {
  if
  :: hasRequest -> hasRequest = false; used = true; remaining--
  :: else -> skip
  fi
}

inline leaveFile() {
  atomic { assert(users > 0); users-- }
}

inline cancel() {
  if
  :: hasRequest ->
#ifndef ENTERS_LATE
    users++;
#endif
    if
    :: atomic { fate == PENDING -> fate = ABANDONED; handedOver = true };
#ifdef KEEPS_BUFFER
      handedOver = false;
      give(buffer);
#endif
#ifdef ENTERS_LATE
      leaveFile();
      users++;
#endif
      buffer = NONE;
      hasRequest = false
    :: fate == LANDED ->
#ifndef ENTERS_LATE
      leaveFile();
#endif
#ifndef IGNORES_RESULT
      land()
#else
      hasRequest = false;
      buffer = NONE
#endif
    fi
  :: else -> skip
  fi;
  hasOutcome = true
}

proctype step() {
  bool seenLanded, seenCancelled;
end_idle:
  atomic { sent -> sent = false; assert(!stepping); stepping = true };
look:
  atomic { seenLanded = landed; seenCancelled = cancelled; again = false; landed = false };
  if
  :: isFinished -> goto looked
  :: else -> skip
  fi;
  if
  :: seenLanded -> land()
  :: else -> skip
  fi;
  if
  :: seenCancelled && !hasOutcome -> cancel()
  :: else -> skip
  fi;
  if
  :: hasRequest -> goto looked
  :: !hasRequest && hasOutcome -> goto finish
  :: else -> skip
  fi;
  if
  :: waits -> goto looked
  :: !waits -> skip
  fi;
read:
  if
  :: remaining == 0 -> hasOutcome = true; goto finish
  :: else -> skip
  fi;
  if
  :: used && out -> goto looked
  :: used && !out ->
    deliver(false);
    if
    :: goto looked // the handler is quick: when it has returned
    :: skip
    fi
  :: !used -> skip
  fi;
  if
  :: buffer == NONE -> take()
  :: else -> skip
  fi;
  if
  :: used = true; remaining--; goto read
  :: hasOutcome = true; goto finish
  :: give(buffer); buffer = NONE; waits = true; goto looked
  :: hasRequest = true; atomic { fate = PENDING; requested = buffer }; goto looked
  fi;
finish:
  if
#ifndef ENDS_BESIDE_HANDLER
  :: out -> goto looked
  :: !out -> skip
#else
  :: skip
#endif
  fi;
  isFinished = true;
#ifndef STAYS_WAITING
  waits = false;
#endif
  if
  :: !used && buffer != NONE -> give(buffer); buffer = NONE
  :: else -> skip
  fi;
  deliver(true);
  leaveFile();
looked:
  atomic {
    seenLanded = false;
    seenCancelled = false;
    if
    :: again -> goto look
    :: else -> running = false; stepping = false; goto end_idle
    fi
  }
}

// The kernel's ring, or a helper.
proctype carrier() {
end_idle:
  requested != NONE;
  assert(users > 0);
  assert(!inPool[requested] && requested != delivered);
  if
  :: atomic { fate == PENDING -> fate = LANDED; requested = NONE }; kick(landed)
  :: atomic { fate == ABANDONED ->
      if
      :: handedOver -> inPool[requested] = true
      :: else -> skip
      fi;
      requested = NONE };
    leaveFile()
  fi;
  goto end_idle
}

// The kernel says that the descriptor is ready.
proctype reporter() {
  bool ready;
end_idle:
  atomic { waits -> assert(!isFinished || stepping); waits = false };
  kick(ready);
  goto end_idle
}

proctype handler() {
end_idle:
  atomic { handlerSent -> handlerSent = false; assert(!calling && ends == 0); calling = true };
  if
  :: atomic { delivered != NONE -> give(delivered); delivered = NONE }
  :: delivered == NONE -> skip
  fi;
  if
  :: isLast -> ends++; calling = false
  :: else ->
    calling = false;
#ifndef RETURN_IS_NO_KICK
    atomic {
      out = false;
      if
      :: running -> again = true
      :: else -> running = true; assert(!sent); sent = true
      fi
    }
#else
    out = false
#endif
  fi;
  goto end_idle
}

proctype stopper() {
  kick(cancelled)
}

proctype judge() {
end_watch:
  timeout;
  assert(ends == 1 && isFinished && !stepping && !waits);
  assert(requested == NONE && users == 0);
  assert(inPool[0] && inPool[1] && inPool[2])
}

init {
  atomic {
    run step();
    run carrier();
    run reporter();
    run handler();
#ifdef STOP
    run stopper();
#endif
    run judge()
  }
}
