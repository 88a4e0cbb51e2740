// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Processes that fork, end and get signals while queues are busy. Each case runs in a process of its own: this program,
// with the case's name. Without arguments it runs all of them and compares how they end.

#include <dispatch/dispatch.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      _exit(99); \
    } \
  } while (0)

static dispatch_queue_t serial, concurrent, global;

static void spin(void *unused) {
  (void)unused;
  for (volatile int i = 0; i < 2000; i++) {
  }
}

static void resubmit(void *queue) {
  spin(NULL);
  dispatch_async_f(queue, queue, resubmit);
}

static void nothing(void *unused) { (void)unused; }

/// Work of all kinds that goes on until the process ends.
static void keep_busy(void) {
  serial = dispatch_queue_create("serial", DISPATCH_QUEUE_SERIAL);
  concurrent = dispatch_queue_create("concurrent", DISPATCH_QUEUE_CONCURRENT);
  global = dispatch_get_global_queue(0, 0);
  dispatch_async_f(serial, serial, resubmit);
  for (int i = 0; i < 4; i++) dispatch_async_f(concurrent, concurrent, resubmit);
  dispatch_async_f(global, global, resubmit);
  dispatch_source_t timer = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, 0, serial);
  dispatch_source_set_timer(timer, DISPATCH_TIME_NOW, 100000, 0);
  dispatch_source_set_event_handler_f(timer, spin);
  dispatch_activate(timer);
}

static void increment(void *counter) { __atomic_fetch_add((int *)counter, 1, __ATOMIC_SEQ_CST); }

static void release(void *semaphore) { dispatch_semaphore_signal(semaphore); }

/// Some of everything, which must work in any process: in a child of a fork too, with queues made there.
static void use_everything(void) {
  int count = 0;
  dispatch_queue_t queue = dispatch_queue_create("of its own", DISPATCH_QUEUE_SERIAL);
  dispatch_group_t group = dispatch_group_create();
  for (int i = 0; i < 50; i++) {
    dispatch_group_async_f(group, queue, &count, increment);
    dispatch_group_async_f(group, dispatch_get_global_queue(0, 0), &count, increment);
  }
  CHECK(dispatch_group_wait(group, DISPATCH_TIME_FOREVER) == 0);
  CHECK(count == 100);
  dispatch_semaphore_t fired = dispatch_semaphore_create(0);
  dispatch_after_f(dispatch_time(DISPATCH_TIME_NOW, 1000000), queue, fired, release);
  CHECK(dispatch_semaphore_wait(fired, DISPATCH_TIME_FOREVER) == 0);
  dispatch_queue_t several = dispatch_queue_create("several", DISPATCH_QUEUE_CONCURRENT);
  for (int i = 0; i < 10; i++) dispatch_async_f(several, &count, increment);
  dispatch_barrier_sync_f(several, &count, increment);
  CHECK(count == 111);
  dispatch_release(several);
  dispatch_release(fired);
  dispatch_release(group);
  dispatch_release(queue);
}

static void wait_for(pid_t child, int wanted) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) CHECK(errno == EINTR);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != wanted) {
    fprintf(stderr, "a child ended with the status %x\n", (unsigned)status);
    _exit(98);
  }
}

static void fork_once(void *unused) {
  (void)unused;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(30);
    use_everything();
    exit(7);
  }
  wait_for(child, 7);
}

// MARK: Cases

static int forks(void) {
  keep_busy();
  for (int i = 0; i < 10; i++) fork_once(NULL);
  use_everything();
  return 0;
}

static int forks_inside_an_item(void) {
  keep_busy();
  dispatch_queue_t queue = dispatch_queue_create("forking", DISPATCH_QUEUE_SERIAL);
  for (int i = 0; i < 5; i++) dispatch_async_f(queue, NULL, fork_once);
  dispatch_sync_f(queue, NULL, nothing);
  use_everything();
  return 0;
}

static int execs(void) {
  keep_busy();
  for (int i = 0; i < 10; i++) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
      _exit(96);
    }
    wait_for(child, 5);
  }
  return 0;
}

static int returns(void) {
  keep_busy();
  use_everything();
  return 11;
}

static void exit_12(void *unused) {
  (void)unused;
  exit(12);
}

static int exits_inside_an_item(void) {
  keep_busy();
  dispatch_barrier_async_f(concurrent, NULL, exit_12);
  dispatch_main();
}

static void exit_on_main(void *unused) {
  (void)unused;
  dispatch_async_f(dispatch_get_main_queue(), NULL, exit_12);
}

static int exits_on_the_main_queue(void) {
  keep_busy();
  dispatch_after_f(dispatch_time(DISPATCH_TIME_NOW, 1000000), global, NULL, exit_on_main);
  dispatch_main();
}

static int uses_queues_at_exit(void) {
  keep_busy();
  atexit(use_everything);
  return 13;
}

static void *exits(void *unused) {
  (void)unused;
  usleep(2000);
  exit(14);
}

static int leaves_the_main_thread(void) {
  keep_busy();
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, exits, NULL) == 0);
  pthread_exit(NULL);
}

static int dies_of_a_signal(void) {
  keep_busy();
  use_everything();
  kill(getpid(), SIGTERM);
  return 94;
}

static int handled;

static void handle(int number) {
  (void)number;
  __atomic_fetch_add(&handled, 1, __ATOMIC_SEQ_CST);
}

static void *send_signals(void *over) {
  while (!__atomic_load_n((int *)over, __ATOMIC_SEQ_CST)) {
    kill(getpid(), SIGUSR1);
    usleep(200);
  }
  return NULL;
}

/// Waits that signals interrupt go on.
static int handles_signals(void) {
  signal(SIGUSR1, handle);
  keep_busy();
  int over = 0;
  pthread_t sender;
  CHECK(pthread_create(&sender, NULL, send_signals, &over) == 0);
  dispatch_semaphore_t never = dispatch_semaphore_create(0);
  for (int i = 0; i < 10; i++) {
    use_everything();
    dispatch_time_t end = dispatch_time(DISPATCH_TIME_NOW, 5000000);
    CHECK(dispatch_semaphore_wait(never, end) != 0);
    CHECK(dispatch_time(DISPATCH_TIME_NOW, 0) >= end);
  }
  // The sender may be late.
  while (__atomic_load_n(&handled, __ATOMIC_SEQ_CST) == 0) usleep(100);
  __atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
  CHECK(pthread_join(sender, NULL) == 0);
  return 0;
}

static int heard;

static void note_signal(void *source) { heard += (int)dispatch_source_get_data(source); }

/// A source hears of signals, however busy the queues are.
static int watches_signals(void) {
  keep_busy();
  signal(SIGUSR2, SIG_IGN);
  dispatch_queue_t queue = dispatch_queue_create("signals", DISPATCH_QUEUE_SERIAL);
  dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_SIGNAL, SIGUSR2, 0, queue);
  dispatch_set_context(source, source);
  dispatch_source_set_event_handler_f(source, note_signal);
  dispatch_semaphore_t ready = dispatch_semaphore_create(0);
  dispatch_source_set_registration_handler_f(source, nothing);
  dispatch_activate(source);
  dispatch_sync_f(queue, NULL, nothing);
  for (int sent = 0; sent < 5; sent++) {
    int before = __atomic_load_n(&heard, __ATOMIC_SEQ_CST);
    kill(getpid(), SIGUSR2);
    while (__atomic_load_n(&heard, __ATOMIC_SEQ_CST) == before) {
      dispatch_semaphore_wait(ready, dispatch_time(DISPATCH_TIME_NOW, 100000));
    }
  }
  return 0;
}

/// A signal that the program blocks, now that queues have run, is the program's to take.
static int takes_what_it_blocks(void) {
  keep_busy();
  use_everything();
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  for (int i = 0; i < 50; i++) {
    kill(getpid(), SIGTERM);
    struct timespec limit = {.tv_sec = 10};
    CHECK(sigtimedwait(&set, NULL, &limit) == SIGTERM);
  }
  return 0;
}

static unsigned long blocked_in(FILE *file) {
  char line[256];
  unsigned long mask = ~0ul;
  CHECK(file != NULL);
  while (fgets(line, sizeof line, file) != NULL) sscanf(line, "SigBlk: %lx", &mask);
  return mask;
}

static unsigned long blocked_by_spawned(bool searches) {
  int ends[2];
  posix_spawn_file_actions_t actions;
  pid_t child;
  char *call[] = {"cat", "/proc/self/status", NULL};
  CHECK(pipe(ends) == 0);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  if (searches) CHECK(posix_spawnp(&child, "cat", &actions, NULL, call, environ) == 0);
  else CHECK(posix_spawn(&child, "/bin/cat", &actions, NULL, call, environ) == 0);
  close(ends[1]);
  FILE *file = fdopen(ends[0], "r");
  unsigned long mask = blocked_in(file);
  fclose(file);
  posix_spawn_file_actions_destroy(&actions);
  wait_for(child, 0);
  return mask;
}

static void start_children(void *unused) {
  (void)unused;
  FILE *file = fopen("/proc/thread-self/status", "r");
  unsigned long own = blocked_in(file);
  CHECK((own & 1ul << (SIGTERM - 1)) != 0 && (own & 1ul << (SIGSEGV - 1)) == 0);
  fclose(file);
  CHECK(blocked_by_spawned(false) == 0);
  CHECK(blocked_by_spawned(true) == 0);
  signal(SIGUSR1, handle);
  CHECK(raise(SIGUSR1) == 0 && handled == 1);
  file = fopen("/proc/thread-self/status", "r");
  CHECK(blocked_in(file) == own);
  fclose(file);
}

/// A child that an item starts blocks nothing, though its thread does.
static int starts_children_inside_an_item(void) {
  keep_busy();
  dispatch_group_t group = dispatch_group_create();
  dispatch_group_async_f(group, global, NULL, start_children);
  CHECK(dispatch_group_wait(group, DISPATCH_TIME_FOREVER) == 0);
  return 0;
}

/// Stopped in the middle of everything, and continued.
static int is_stopped(void) {
  keep_busy();
  pid_t parent = getpid();
  for (int i = 0; i < 5; i++) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      kill(parent, SIGSTOP);
      usleep(2000);
      kill(parent, SIGCONT);
      _exit(0);
    }
    use_everything();
    wait_for(child, 0);
  }
  return 0;
}

static const struct {
  const char *name;
  int (*run)(void);
  int status;
} cases[] = {
    {"forks", forks, 0},
    {"forks inside an item", forks_inside_an_item, 0},
    {"execs", execs, 0},
    {"returns", returns, 11},
    {"exits inside an item", exits_inside_an_item, 12},
    {"exits on the main queue", exits_on_the_main_queue, 12},
    {"uses queues at exit", uses_queues_at_exit, 13},
    {"leaves the main thread", leaves_the_main_thread, 14},
    {"dies of a signal", dies_of_a_signal, -SIGTERM},
    {"handles signals", handles_signals, 0},
    {"watches signals", watches_signals, 0},
    {"takes what it blocks", takes_what_it_blocks, 0},
    {"starts children inside an item", starts_children_inside_an_item, 0},
    {"is stopped", is_stopped, 0},
};

enum { CASES = sizeof cases / sizeof cases[0] };

int main(int count, char **arguments) {
  if (count > 1) {
    // The alarm ends a case that hangs.
    alarm(30);
    for (int i = 0; i < CASES; i++) {
      if (strcmp(cases[i].name, arguments[1]) == 0) return cases[i].run();
    }
    return 95;
  }
  int failures = 0;
  for (int i = 0; i < CASES; i++) {
    pid_t child;
    char *call[] = {arguments[0], (char *)cases[i].name, NULL};
    CHECK(posix_spawn(&child, "/proc/self/exe", NULL, NULL, call, environ) == 0);
    int status = 0;
    while (waitpid(child, &status, 0) < 0) CHECK(errno == EINTR);
    int ended = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    if (ended == cases[i].status) continue;
    fprintf(stderr, "%s: ended with %d, not %d\n", cases[i].name, ended, cases[i].status);
    failures++;
  }
  if (failures == 0) printf("%d cases\n", CASES);
  return failures != 0;
}
