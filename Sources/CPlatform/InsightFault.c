// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// What the thread does that ends the process because of a fault: one thread does it, and the core file goes where the setting says.

#define _GNU_SOURCE 1
#include "CPlatformInsightRegion.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/// GRANDCENTRAL_CORE, as it was when the program began: a path, in which %p is the process's number. Empty if it is not set.
static char setting[1024];
/// It is too long, or no path that begins with /.
static bool is_odd;

__attribute__((constructor)) static void keep_setting(void) {
  const char *value = secure_getenv("GRANDCENTRAL_CORE");
  if (value == NULL || *value == 0) return;
  is_odd = value[0] != '/' || strlen(value) >= sizeof setting;
  strncpy(setting, value, sizeof setting - 1);
}

/// A line on standard error, of which a file's path is the end.
static void tell(const char *words, const char *path) {
  char line[sizeof setting + 80];
  size_t length = strlen(words), rest = strlen(path);
  memcpy(line, words, length);
  memcpy(line + length, path, rest);
  line[length + rest] = '\n';
  while (write(2, line, length + rest + 1) < 0 && errno == EINTR) {}
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
  /// The thread that ends the process.
  static uint32_t first;
  uint32_t nobody = 0, own = gc_thread_id();
  // relaxed: nothing of the thread's is read.
  if (__atomic_compare_exchange_n(&first, &nobody, own, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
  // A handler of signals has interrupted the first one.
  if (nobody == own) return;
  const struct timespec longest = {10, 0};
  nanosleep(&longest, NULL);
}
