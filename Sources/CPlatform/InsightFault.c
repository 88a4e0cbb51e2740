// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// When the process writes what it shows of itself, and where to: one thread does it before a fault ends the process, and the thread that
// gets the signal which the environment has chosen does it and goes on.

#define _GNU_SOURCE 1
#include "CPlatformIO.h"
#include "CPlatformInsightRegion.h"
#include "CPlatformSignals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/// GRANDCENTRAL_CORE, as it was when the program began: a path, in which %p is the process's number. Empty if it is not set.
static char setting[1024];
/// It is too long, or no path that begins with /.
static bool is_odd;

/// More than the words of any line have before its path.
enum { MOST_WORDS = 128 };

/// A line on standard error, of which a file's path is the end. What has no room in it is cut off.
static void tell(const char *words, const char *path) {
  char line[MOST_WORDS + sizeof setting + 1];
  size_t length = strnlen(words, MOST_WORDS), rest = strnlen(path, sizeof setting);
  memcpy(line, words, length);
  memcpy(line + length, path, rest);
  line[length + rest] = '\n';
  gc_write_quietly(2, line, length + rest + 1);
}

/// The setting's path; false if it is too long.
static bool expand(char path[sizeof setting]) {
  char digits[12];
  size_t length = 0, count = 0;
  for (uint32_t number = (uint32_t)getpid(); number != 0; number /= 10) digits[count++] = (char)('0' + number % 10);
  for (const char *from = setting; *from != 0; from++) {
    bool is_number = from[0] == '%' && from[1] == 'p';
    size_t room = is_number ? count : 1;
    if (length + room >= sizeof setting) return false;
    if (is_number) {
      for (size_t digit = count; digit > 0; digit--) path[length++] = digits[digit - 1];
      from++;
    } else {
      path[length++] = *from;
    }
  }
  path[length] = 0;
  return true;
}

void gc_insight_write_core_at_fault(void) {
  if (setting[0] == 0) return;
  char path[sizeof setting];
  if (is_odd || !expand(path)) {
    tell("  no core file, as GRANDCENTRAL_CORE is no path that begins with /, or too long: ", setting);
    return;
  }
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK, 0600);
  // Another thread may be writing one of the program's own.
  bool is_written = file >= 0 && gc_insight_write_core(file, 2000);
  if (file >= 0) close(file);
  tell(is_written ? "  gcd trace --core, gcd why --core: " : "  no core file could be written: ", path);
}

void gc_insight_await_fault(void) {
  /// The process, and the thread that ends it. What the child of a fork finds here may be its parent's.
  static uint64_t first;
  uint64_t seen = 0;
  const uint64_t process = (uint32_t)getpid(), own = process << 32 | gc_thread_id();
  // relaxed: nothing of the thread's is read.
  while (!__atomic_compare_exchange_n(&first, &seen, own, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    // A handler of signals has interrupted the first one.
    if (seen == own) return;
    if (seen >> 32 != process) continue;
    gc_nanosleep_whole(UINT64_C(10000000000));
    return;
  }
}

// MARK: The chosen signal

/// Which signal GRANDCENTRAL_DUMP_SIGNAL chooses, by its name or its number; 0 if it is none that a program can handle
/// without having caused it.
static int chosen_signal(const char *value) {
  static const struct {
    const char *name;
    int number;
  } names[] = {{"HUP", SIGHUP}, {"INT", SIGINT}, {"QUIT", SIGQUIT}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
               {"TERM", SIGTERM}, {"PWR", SIGPWR}, {"WINCH", SIGWINCH}, {"URG", SIGURG}};
  if (strncmp(value, "SIG", 3) == 0) value += 3;
  for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
    if (strcmp(value, names[index].name) == 0) return names[index].number;
  }
  char *end;
  long number = strtol(value, &end, 10);
  bool is_number = *value >= '0' && *value <= '9' && *end == 0;
  // A thread that has caused a signal causes it again when the handler returns: a crash would be written over and over. SIGABRT ends a fault.
  bool is_free = is_number && number <= SIGRTMAX && number != SIGABRT && gc_signal_can_be_watched((int)number);
  return is_free ? (int)number : 0;
}

static void write_on_request(int number) {
  (void)number;
  int former = errno;
  gc_insight_head parts;
  if (gc_insight_dumped(&parts) == NULL) {
    tell("GrandCentral: nothing can be shown yet", "");
  } else {
    gc_insight_dump_at_fault();
    gc_insight_write_core_at_fault();
  }
  errno = former;
}

/// Also where the program's parent had the signal ignored, as a shell has that starts it in the background, or blocked. What the
/// program sets itself later takes the place.
static void handle(const char *value) {
  int number = chosen_signal(value);
  if (number == 0) return tell("GrandCentral: GRANDCENTRAL_DUMP_SIGNAL names no signal that can be handled: ", value);
  struct sigaction former, handler = {.sa_handler = write_on_request, .sa_flags = SA_RESTART | SA_ONSTACK};
  sigfillset(&handler.sa_mask);
  if (sigaction(number, NULL, &former) != 0 || (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN)) return;
  sigaction(number, &handler, NULL);
  sigset_t chosen;
  sigemptyset(&chosen);
  sigaddset(&chosen, number);
  sigprocmask(SIG_UNBLOCK, &chosen, NULL);
}

__attribute__((constructor)) static void keep_settings(void) {
  const char *core = secure_getenv("GRANDCENTRAL_CORE"), *chosen = secure_getenv("GRANDCENTRAL_DUMP_SIGNAL");
  if (core != NULL && *core != 0) {
    is_odd = core[0] != '/' || strlen(core) >= sizeof setting;
    strncpy(setting, core, sizeof setting - 1);
  }
  if (chosen != NULL && *chosen != 0) handle(chosen);
}
