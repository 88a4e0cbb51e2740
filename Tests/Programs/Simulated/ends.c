// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Ends as the first argument says.

#include <assert.h>
#include <dispatch/dispatch.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static void again(void *context) {
  dispatch_async_f(dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0), context, again);
}
static void finish(void *context) { *(volatile bool *)context = true; }
static int overflow(int depth) {
  volatile char room[4096];
  room[0] = (char)depth;
  return depth < 0 ? 0 : overflow(depth + 1) + room[0];
}
static void nothing(void *context) { (void)context; }
static void wait_for(void *semaphore) { dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER); }

static int told[2];
static void tell(int number) {
  if (number > 0 && write(told[1], "!", 1) != 1) abort();
}

static void *end_at_once(void *context) { return context; }
static void leave(int number) { _exit(number == SIGALRM ? 0 : 1); }

// A thread that the simulation does not see: it is started by the C library's own function, past the one that stands in for it.
static void *use_queue(void *context) {
  dispatch_sync_f(dispatch_queue_create("outside", NULL), context, nothing);
  return context;
}
static int start_outside(pthread_t *thread) {
  void *library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  *(void **)&create = library == NULL ? NULL : dlsym(library, "pthread_create");
  return create == NULL ? -1 : create(thread, NULL, use_queue, NULL);
}

// A thread that is there before main, as of a static object in C++.
static pthread_mutex_t early_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t early_condition = PTHREAD_COND_INITIALIZER;
static bool is_asked, is_answered;
static void wait_until(bool *is_true) {
  while (!*is_true) pthread_cond_wait(&early_condition, &early_mutex);
}
static void *answer(void *context) {
  pthread_mutex_lock(&early_mutex);
  wait_until(&is_asked);
  is_answered = true;
  pthread_cond_broadcast(&early_condition);
  pthread_mutex_unlock(&early_mutex);
  return context;
}
__attribute__((constructor)) static void start_early(int count, char **arguments) {
  pthread_t thread;
  if (count > 1 && strcmp(arguments[1], "early") == 0) pthread_create(&thread, NULL, answer, NULL);
}

// A reader that reads again gives way to the writer, which waits for it.
static pthread_rwlock_t shared = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static void *write_shared(void *context) {
  pthread_rwlock_wrlock(&shared);
  return context;
}

// A thread that computes, takes locks that are free, and looks at a clock, while another one waits for it, and not for ever.
static sem_t computed;
static void *compute_in_rounds(void *context) {
  pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
  struct timespec time;
  for (int round = 0; round < 10000; round += 1) {
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    clock_gettime(CLOCK_MONOTONIC, &time);
  }
  sem_post(&computed);
  return context;
}
// Some hundred thousand take next to no time.
static void *take_free_locks(void *context) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  for (int round = 0; round < 150000; round += 1) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  sem_post(&computed);
  return context;
}
static void *look_at_clocks(void *context) {
  struct timespec time;
  for (int round = 0; round < 150000; round += 1) clock_gettime(CLOCK_MONOTONIC, &time);
  sem_post(&computed);
  return context;
}
static int await_computed(void *(*body)(void *), long milliseconds) {
  pthread_t thread;
  struct timespec soon;
  sem_init(&computed, 0, 0);
  pthread_create(&thread, NULL, body, NULL);
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_sec += milliseconds / 1000;
  soon.tv_nsec += milliseconds % 1000 * 1000000;
  if (soon.tv_nsec >= 1000000000) {
    soon.tv_sec += 1;
    soon.tv_nsec -= 1000000000;
  }
  int error = sem_timedwait(&computed, &soon);
  pthread_join(thread, NULL);
  return error == 0 ? 0 : 1;
}

int main(int count, char **arguments) {
  const char *way = count > 1 ? arguments[1] : "";
  dispatch_group_t group = dispatch_group_create();
  if (strcmp(way, "code") == 0) _exit(3);
  if (strcmp(way, "assertion") == 0) assert(group == NULL);
  if (strcmp(way, "idle") == 0) dispatch_main();
  if (strcmp(way, "misuse") == 0) dispatch_group_leave(group);
  if (strcmp(way, "terminate") == 0) raise(SIGTERM);
  if (strcmp(way, "quit") == 0) {
    // A shell has what it starts in the background ignore it.
    signal(SIGQUIT, SIG_DFL);
    raise(SIGQUIT);
  }
  if (strcmp(way, "lines") == 0) {
    dispatch_queue_t queue = dispatch_queue_create("two\nlines", NULL);
    dispatch_async_f(queue, NULL, nothing);
    dispatch_suspend(queue);
    dispatch_sync_f(queue, NULL, nothing);
  }
  if (strcmp(way, "early") == 0) {
    pthread_mutex_lock(&early_mutex);
    is_asked = true;
    pthread_cond_broadcast(&early_condition);
    wait_until(&is_answered);
    pthread_mutex_unlock(&early_mutex);
  }
  if (strcmp(way, "stack") == 0) return overflow(0);
  if (strcmp(way, "exec") == 0) execl("/bin/true", "true", (char *)NULL);
  if (strcmp(way, "pause") == 0) nanosleep(&(struct timespec){.tv_sec = LONG_MAX}, NULL);
  while (strcmp(way, "flood") == 0) puts("a line of many");
  for (volatile unsigned count = 0; strcmp(way, "for-ever") == 0;) count += 1;
  if (strcmp(way, "locked") == 0) flockfile(stdout);
  if (strcmp(way, "mutex") == 0 || strcmp(way, "locked") == 0) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex);
  }
  if (strcmp(way, "reader") == 0) {
    pthread_t thread;
    pthread_rwlock_rdlock(&shared);
    pthread_create(&thread, NULL, write_shared, NULL);
    sleep(1);
    pthread_rwlock_rdlock(&shared);
  }
  if (strcmp(way, "endless") == 0) {
    again(NULL);
    dispatch_main();
  }
  if (strcmp(way, "read") == 0) {
    int ends[2];
    char byte;
    if (pipe(ends) == 0 && read(ends[0], &byte, 1) == 1) return 1;
  }
  if (strcmp(way, "shared") == 0) {
    // A child has the other end as well.
    int ends[2];
    char byte;
    if (pipe(ends) != 0) return 1;
    if (fork() == 0) {
      alarm(3);
      pause();
    }
    if (read(ends[0], &byte, 1) == 1) return 1;
  }
  if (strcmp(way, "mixed") == 0) {
    int ends[2], outside = socket(AF_INET, SOCK_DGRAM, 0);
    struct pollfd polled[] = {{.fd = outside, .events = POLLIN}, {.events = POLLIN}};
    if (pipe(ends) != 0) return 1;
    polled[1].fd = ends[0];
    return poll(polled, 2, -1);
  }
  if (strcmp(way, "signal") == 0) {
    signal(SIGUSR1, SIG_IGN);
    kill(getpid(), SIGUSR1);
    poll(&(struct pollfd){.fd = eventfd(0, 0), .events = POLLIN}, 1, -1);
  }
  if (strcmp(way, "alarm") == 0) {
    // The handler would end the wait.
    signal(SIGALRM, tell);
    alarm(1);
    if (pipe(told) != 0 || poll(&(struct pollfd){.fd = told[0], .events = POLLIN}, 1, -1) < 1) return 1;
  }
  if (strcmp(way, "threads") == 0) {
    // One after the other, and more than a run may have.
    for (int count = 0; count < 4200; count += 1) {
      pthread_t thread;
      if (pthread_create(&thread, NULL, end_at_once, NULL) != 0 || pthread_join(thread, NULL) != 0) return 1;
    }
  }
  if (strcmp(way, "handler") == 0) {
    // On the main thread, which waits.
    signal(SIGALRM, leave);
    alarm(1);
    poll(&(struct pollfd){.fd = eventfd(0, 0), .events = POLLIN}, 1, -1);
    return 1;
  }
  if (strcmp(way, "behind") == 0) {
    // A worker stays in its item when main has left.
    dispatch_async_f(dispatch_queue_create("behind", NULL), dispatch_semaphore_create(0), wait_for);
    pthread_exit(NULL);
  }
  if (strcmp(way, "left") == 0) {
    dispatch_suspend(dispatch_queue_create("halted", NULL));
    dispatch_after_f(dispatch_time(DISPATCH_TIME_NOW, NSEC_PER_SEC), dispatch_get_main_queue(), NULL, nothing);
    return 0;
  }
  if (strcmp(way, "awaited") == 0) {
    sigset_t set;
    sigfillset(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    sigwaitinfo(&set, NULL);
  }
  if (strcmp(way, "orphan") == 0) {
    signal(SIGCHLD, tell);
    pid_t child = fork();
    if (child == 0) _exit(usleep(100000));
    if (pipe(told) != 0 || poll(&(struct pollfd){.fd = told[0], .events = POLLIN}, 1, -1) < 1) return 1;
  }
  if (strcmp(way, "broken") == 0) {
    int ends[2];
    if (pipe(ends) != 0 || close(ends[0]) != 0 || write(ends[1], "x", 1) >= 0) return 0;
  }
  if (strcmp(way, "stranger") == 0) {
    pthread_t thread;
    return start_outside(&thread) == 0 ? pthread_join(thread, NULL) : 1;
  }
  if (strcmp(way, "clock") == 0) {
    time_t begin = time(NULL);
    while (time(NULL) < begin + 2) continue;
  }
  if (strcmp(way, "spin") == 0) {
    // Until another thread has done something, without a point of its own in the usual schedule.
    volatile bool is_done = false;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    dispatch_async_f(dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0), (void *)&is_done, finish);
    for (bool seen = false; !seen;) {
      pthread_mutex_lock(&mutex);
      seen = is_done;
      pthread_mutex_unlock(&mutex);
    }
  }
  if (strcmp(way, "rounds") == 0) return await_computed(compute_in_rounds, 1000);
  if (strcmp(way, "free") == 0) return await_computed(take_free_locks, 100) | await_computed(look_at_clocks, 100);
  if (strcmp(way, "child") == 0) {
    // A child is a process as others are: nothing of it is simulated.
    if (system("test -z \"$GRANDCENTRAL_SIMULATE\"") != 0) return 1;
    pid_t child = fork();
    if (child == 0) {
      dispatch_group_async_f(group, dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0), NULL, nothing);
      dispatch_group_wait(group, DISPATCH_TIME_FOREVER);
      _exit(0);
    }
  }
  if (strcmp(way, "random") == 0) {
    unsigned number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) return 1;
    printf("%u\n", number);
#if __GLIBC_PREREQ(2, 36)
    // So many events there are.
    for (number = arc4random_uniform(1000); number > 0; number -= 1) usleep(1);
#endif
  }
  // Two reads of what is not simulated, and some of what is, or is the same each time.
  if (strcmp(way, "outside") == 0) {
    char byte;
    int ends[2], random = open("/dev/urandom", O_RDONLY), none = open("/dev/null", O_RDONLY);
    int given = open("/proc/self/exe", O_RDONLY);
    struct iovec part = {&byte, 1};
    if (read(random, &byte, 1) != 1 || readv(random, &part, 1) != 1) return 1;
    if (read(none, &byte, 1) != 0 || read(given, &byte, 1) != 1) return 1;
    if (pipe(ends) != 0 || write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1) return 1;
    int sender = socket(AF_INET, SOCK_DGRAM, 0), receiver = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (bind(receiver, (struct sockaddr *)&address, length) != 0) return 1;
    if (getsockname(receiver, (struct sockaddr *)&address, &length) != 0) return 1;
    if (sendto(sender, "x", 1, 0, (struct sockaddr *)&address, length) != 1) return 1;
    if (recv(receiver, &byte, 1, 0) != 1) return 1;
  }
  // Right programs that leave little room for their reports.
  if (strcmp(way, "elsewhere") == 0) return chdir("/");
  if (strcmp(way, "nobody") == 0 && setuid(65534) != 0) puts("there are no rights to give up");
  if (strcmp(way, "exhausted") == 0) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
    limit.rlim_cur = 64;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
    while (open("/dev/null", O_RDONLY) >= 0) continue;
  }
  if (strcmp(way, "full") == 0) {
    signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &(struct rlimit){16, 16});
  }
  // Has another step each time, as the file has another size.
  if (strcmp(way, "file") == 0 && count > 2) {
    FILE *file = fopen(arguments[2], "a");
    if (file == NULL) return 1;
    fseek(file, 0, SEEK_END);
    if (ftell(file) % 2 == 0) dispatch_sync_f(dispatch_queue_create("even", NULL), NULL, nothing);
    fputc('.', file);
    fclose(file);
    // The difference is long ago at the end.
    dispatch_queue_t queue = dispatch_queue_create("after", NULL);
    for (int round = 0; round < 100; round += 1) dispatch_sync_f(queue, NULL, nothing);
  }
  return 0;
}
