// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// C5: a thread of the program that is cancelled while it submits ends behind what it has submitted, as on libdispatch, of which no call that
// submits is a cancellation point. Compiled against any <dispatch/dispatch.h>.

#include "check.h"

#include <dispatch/dispatch.h>
#include <pthread.h>
#include <unistd.h>

static void signal_done(void *done) { dispatch_semaphore_signal(done); }

static void nothing(void *unused) { (void)unused; }

static void *submit(void *done) {
  // As another thread's cancellation that has come just before.
  pthread_cancel(pthread_self());
  dispatch_async_f(dispatch_get_global_queue(0, 0), done, signal_done);
  return NULL;
}

static void submit_cancelled(void) {
  dispatch_semaphore_t done = dispatch_semaphore_create(0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, submit, done) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(dispatch_semaphore_wait(done, dispatch_time(DISPATCH_TIME_NOW, 20 * (int64_t)NSEC_PER_SEC)) == 0);
  dispatch_release(done);
}

int main(void) {
  // The process's first item, for which threads are made.
  submit_cancelled();
  // From here on a thread of the pool sleeps where descriptors are waited for.
  int ends[2];
  CHECK(pipe(ends) == 0);
  dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_READ, (uintptr_t)ends[0], 0, dispatch_get_global_queue(0, 0));
  dispatch_source_set_event_handler_f(source, nothing);
  dispatch_resume(source);
  for (int round = 0; round < 50; round++) {
    // Where the pool is not yet asleep, the round shows nothing.
    usleep(2000);
    submit_cancelled();
  }
  printf("%d checks\n", checks);
}
