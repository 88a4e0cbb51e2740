// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE 1
#include "CPlatformInsightRegion.h"
#include "CPlatformProbes.h"
#include "CPlatformVersion.h"
#include "Uncancelled.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((aligned(GC_LARGEST_PAGE))) unsigned char gc_insight_page[GC_LARGEST_PAGE];

static uint32_t read_wishes(void) {
  const char *inspect = secure_getenv("GRANDCENTRAL_INSPECT"), *record = secure_getenv("GRANDCENTRAL_RECORD");
  uint32_t wishes = inspect != NULL && strcmp(inspect, "1") == 0 ? GC_SWITCH_OBJECTS : 0;
  if (record == NULL) return wishes;
  if (strcmp(record, "ring") == 0) return wishes | GC_SWITCH_RECORD | GC_SWITCH_OBJECTS;
  if (strcmp(record, "collect") == 0) return wishes | GC_SWITCH_RECORD | GC_SWITCH_OBJECTS | GC_SWITCH_COLLECT;
  return wishes;
}

/// As they were when the program began: later on, other threads may change the environment at any time.
static uint32_t wishes;

uint32_t gc_insight_wishes(void) { return wishes; }

__attribute__((constructor)) static void turn_wishes_on(void) {
  wishes = read_wishes();
  uint32_t switches = wishes | (gc_probes_are_wanted() ? (uint32_t)GC_SWITCH_PROBE : 0);
  if (switches != 0) *(volatile uint32_t *)gc_insight_page = switches;
}

bool gc_insight_is_cramped(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

/// The number of the region's file, and its size.
static ino_t own_file;
static off_t own_size;

/// A limit above the size of any program's list.
enum { LONGEST_LIST = 1 << 20 };

/// No program expects a descriptor from here on: those that it opens itself are the lowest free ones. It is below 64,
/// as the kernel's first table of descriptors has so many places. A larger table is an RCU grace period in a process
/// with threads, which was measured as 14 ms.
enum { HIGH = 48 };

/// Where that is possible, the descriptor is a high one; it never is a standard stream's. Else -errno.
static int moved_up(int descriptor) {
  int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, HIGH);
  if (moved < 0) return gc_above_standard(descriptor);
  raw_close(descriptor);
  return moved;
}

/// Whether it is a page that a tool has handed down, and that no process has made its own; `head` is what it has then. The
/// program may have closed it, and use the number for something else: nothing but a memfd has seals.
__attribute__((noinline)) static bool is_offer(int number, gc_insight_head *head) {
  return fcntl(number, F_GET_SEALS) == 0 && raw_pread(number, head, sizeof *head, 0) == sizeof *head
      && head->magic == GC_INSIGHT_OFFER;
}

/// Puts the next page into the place of the one that was taken: what the process becomes by `exec` finds it there, under the
/// number that the environment has, and no other process takes it. The descriptor of the page that was taken.
static int followed_by(int next, int number, uint32_t process) {
  gc_insight_head head;
  int taken = -1;
  if (is_offer(next, &head)
      && raw_pwrite(next, &process, sizeof process, offsetof(gc_insight_head, reserved)) == sizeof process) {
    taken = fcntl(number, F_DUPFD_CLOEXEC, HIGH);
  }
  if (taken < 0) {
    fcntl(number, F_SETFD, FD_CLOEXEC);
    return number;
  }
  dup2(next, number);
  raw_close(next);
  return taken;
}

/// The descriptor that a tool has handed down, if it is there and no process has taken it yet; or -1.
static int handed_down(void) {
  const char *text = secure_getenv(GC_INSIGHT_OFFER_VARIABLE);
  if (text == NULL || *text == 0) return -1;
  char *end;
  int number = (int)strtol(text, &end, 10);
  gc_insight_head seen;
  uint32_t nobody = 0, process = (uint32_t)getpid();
  if (*end != 0 || !is_offer(number, &seen) || (seen.reserved != 0 && seen.reserved != process)) return -1;
  gc_insight_head *head = mmap(NULL, sizeof *head, PROT_READ | PROT_WRITE, MAP_SHARED, number, 0);
  if (head == MAP_FAILED) return -1;
  // relaxed: the word says only which process owns the page; nothing else of it has been written.
  bool taken = __atomic_compare_exchange_n(&head->pid, &nobody, process, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  munmap(head, sizeof *head);
  return taken ? followed_by((int)seen.unlisted, number, process) : -1;
}

int gc_insight_descriptor(void) {
  int descriptor = memfd_create(GC_INSIGHT_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  return descriptor < 0 ? -errno : moved_up(descriptor);
}

/// Maps memory in the place of the head's page: the file's, or memory of the process's own if the descriptor is -1. False where the
/// kernel refuses it.
///
/// Threads look at the switches meanwhile. They see the old page or the new one, which have the same words in them (`makeSlow`), but
/// ThreadSanitizer takes a call of `mmap` for a write of the whole page that those looks race with. It does not see a system call.
static bool map_over_head(int descriptor) {
  // `syscall` takes long words: if it got an int, the upper half would be left to chance.
  const long page = sysconf(_SC_PAGESIZE), access = PROT_READ | PROT_WRITE, file = descriptor, begin = 0;
  const long kind = MAP_FIXED | (descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  return syscall(SYS_mmap, gc_insight_page, page, access, kind, file, begin) != -1;
}

uint32_t gc_insight_workers[GC_INSIGHT_WORKERS];

/// The region's page is there: what workers have written to the page before it is written again.
static void show_workers(void) {
  uint32_t *shown = (uint32_t *)(void *)(gc_insight_page + GC_INSIGHT_WORKERS_OFFSET);
  for (uint32_t index = 0; index < GC_INSIGHT_WORKERS; index++) {
    // seq-cst: see gc_insight_show_worker. A word that its worker takes back at this moment is an old number for a moment longer.
    uint32_t tid = __atomic_load_n(&gc_insight_workers[index], __ATOMIC_SEQ_CST);
    if (tid != 0) __atomic_store_n(&shown[index], tid, __ATOMIC_RELAXED);
  }
}

/// Writes the list of mapped files behind the region. A tool that comes when the process has ended could not read it any more.
/// What cannot be written is left out: functions are then shown by their addresses.
static void append_files(int descriptor, off_t end) {
  int list = raw_open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (list < 0) return;
  char bytes[4096];
  ssize_t count;
  for (off_t place = end; place < end + LONGEST_LIST; place += count) {
    count = raw_read(list, bytes, sizeof bytes);
    if (count <= 0 || raw_pwrite(descriptor, bytes, (size_t)count, place) != count) break;
  }
  raw_close(list);
}

int gc_insight_make(size_t size, const gc_insight_head *head, void **base) {
  if (sysconf(_SC_PAGESIZE) > GC_LARGEST_PAGE) return -EINVAL;
  // A file that grows beyond the process's limit for files raises SIGXFSZ, which ends the process.
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < size + LONGEST_LIST + 4096) return -EFBIG;
  int descriptor = handed_down();
  bool is_handed_down = descriptor >= 0;
  if (descriptor < 0) descriptor = gc_insight_descriptor();
  if (descriptor < 0) return descriptor;
  void *all = MAP_FAILED;
  if (ftruncate(descriptor, (off_t)size) == 0) {
    if (is_handed_down) append_files(descriptor, (off_t)size);
    // Tools may write switches, but no process changes the size: a mapped page that is cut off would be a fault here.
    fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    all = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  }
  if (all == MAP_FAILED) {
    int error = errno;
    raw_close(descriptor);
    return -error;
  }
  // The magic number comes last: a tool that looks at this moment finds it only where the head is whole.
  gc_insight_head *shown = all, whole = *head;
  whole.magic = shown->magic;
  // Another process has taken what a tool has handed down: none takes this one's records away, before a tool comes that says so itself.
  if (!is_handed_down && secure_getenv(GC_INSIGHT_OFFER_VARIABLE) != NULL) whole.switches &= ~(uint32_t)GC_SWITCH_COLLECT;
  memcpy(whole.library, GC_VERSION, sizeof GC_VERSION);
  memcpy(shown, &whole, sizeof whole);
  __atomic_store_n(&shown->magic, head->magic, __ATOMIC_RELEASE);
  struct stat file;
  bool is_known = fstat(descriptor, &file) == 0;
  own_file = is_known ? file.st_ino : 0;
  own_size = is_known ? file.st_size : 0;
  if (!map_over_head(descriptor)) {
    int error = errno;
    munmap(all, size);
    raw_close(descriptor);
    return -error;
  }
  show_workers();
  *base = all;
  gc_insight_dump_from(all, head);
  return descriptor;
}

/// A bit for each entry, 1: in use. An array of Swift's would be made at its first use, under a lock of the Swift runtime's: the
/// child of a fork that comes in that moment would wait for ever.
static uint64_t entries_in_use[GC_INSIGHT_THREADS / 64];

int gc_insight_take_entry(int count) {
  for (int word = 0; word * 64 < count; word++) {
    if (~entries_in_use[word] == 0) continue;
    int bit = __builtin_ctzll(~entries_in_use[word]);
    if (word * 64 + bit >= count) return -1;
    entries_in_use[word] |= UINT64_C(1) << bit;
    return word * 64 + bit;
  }
  return -1;
}

void gc_insight_give_back_entry(int index) { entries_in_use[index / 64] &= ~(UINT64_C(1) << (index % 64)); }

void gc_insight_forget_entries(void) { memset(entries_in_use, 0, sizeof entries_in_use); }

void gc_insight_leave(void *base, size_t size, int descriptor, uint32_t switches) {
  gc_insight_dump_from(NULL, NULL);
  gc_insight_forget_core();
  memset(gc_insight_workers, 0, sizeof gc_insight_workers);
  // Closed only if it is still ours: the program may have closed it, and use the number for something else. A deleted file of
  // just this size and number is no coincidence.
  struct stat file;
  if (base != NULL && fstat(descriptor, &file) == 0 && S_ISREG(file.st_mode) && file.st_nlink == 0
      && file.st_size == own_size && file.st_ino == own_file) {
    raw_close(descriptor);
  }
  if (base != NULL) munmap(base, size);
  if (map_over_head(-1)) *(volatile uint32_t *)gc_insight_page = switches;
}

// A copy that was torn is thrown away, so the sanitizer need not know of it.
#if defined(__has_attribute) && __has_attribute(no_sanitize)
__attribute__((no_sanitize("thread")))
#endif
void gc_insight_copy(void *to, const void *from, size_t size) {
  uint64_t *target = to;
  const volatile uint64_t *source = from;
  for (size_t word = 0; word < size / sizeof *target; word++) target[word] = source[word];
}

void gc_thread_get_name(char *name) {
  memset(name, 0, 16);
  prctl(PR_GET_NAME, (unsigned long)name, 0, 0, 0);
}
