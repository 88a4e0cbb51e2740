// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// What tools read of the process, its recorder's records with it, as a core file that the process writes itself: a core file of the
// kernel's is often not to be had, and has all memory in it. A signal handler may write it, and a thread that holds any lock: nothing
// here allocates, waits or takes a lock, and errno stays as it is.
//
//   offset          what
//   0               the file's head and two program headers
//   176             notes: the process, each of the threads that the region knows, the files that were mapped
//   a whole page    the region, at its address in the process. What of it was never used is a hole in the file.
//
// The files' paths stand behind the list of their addresses, and how many there are is known when the list of mappings has been read:
// it is read twice. The heads come last, as only then the notes' length is known: a file that is cut off is no core file.

#define _GNU_SOURCE 1
#include "CPlatformInsightRegion.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAGE UINT64_C(4096)
/// In 64-bit processes, where the notes' fields are, and how long they are.
#define STATUS_SIZE 336
#define STATUS_THREAD 32
#define PROCESS_SIZE 136
#define PROCESS_NUMBER 24
#define PROCESS_NAME 40

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

// As in InsightDump.c, it is the size that counts.
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)

/// A stack for signals is small: what is long lies here, and one thread at a time uses it.
static struct {
  bool is_used;
  char path[PATH_MAX + 64];
  char bytes[4096];
  char copies[16 * sizeof(gc_insight_thread)];
} memory;

typedef struct {
  int descriptor;
  bool failed;
} output;

static void put(output *output, const void *bytes, size_t size, uint64_t offset) {
  size_t done = 0;
  while (done < size && !output->failed) {
    ssize_t count = pwrite(output->descriptor, (const char *)bytes + done, size - done, (off_t)(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) output->failed = true;
    else done += (size_t)count;
  }
}

/// Memory that other threads may change meanwhile, a piece at a time.
static void put_shared(output *output, const char *bytes, size_t size, uint64_t offset) {
  for (size_t done = 0; done < size && !output->failed; done += sizeof memory.copies) {
    size_t piece = size - done < sizeof memory.copies ? size - done : sizeof memory.copies;
    gc_insight_copy(memory.copies, bytes + done, piece);
    put(output, memory.copies, piece, offset + done);
  }
}

// MARK: The list of mapped files

typedef struct {
  int descriptor;
  size_t filled, next;
} list;

typedef struct {
  uint64_t start, end, offset;
} mapping;

static int next_byte(list *list) {
  if (list->next == list->filled) {
    ssize_t count;
    do count = read(list->descriptor, memory.bytes, sizeof memory.bytes);
    while (count < 0 && errno == EINTR);
    if (count <= 0) return -1;
    list->filled = (size_t)count;
    list->next = 0;
  }
  return (unsigned char)memory.bytes[list->next++];
}

/// The number up to a byte that is no digit, which is taken as well. False at the end of the list.
static bool next_number(list *list, uint64_t *number) {
  *number = 0;
  for (;;) {
    int byte = next_byte(list);
    if (byte < 0) return false;
    if (byte >= '0' && byte <= '9') *number = *number << 4 | (uint64_t)(byte - '0');
    else if (byte >= 'a' && byte <= 'f') *number = *number << 4 | (uint64_t)(byte - 'a' + 10);
    else return true;
  }
}

static bool skip_word(list *list) {
  int byte;
  do byte = next_byte(list);
  while (byte >= 0 && byte != ' ');
  return byte >= 0;
}

/// The next mapping of a file, whose path is then `memory.path`. A line: "7f00-7f10 r-xp 00001000 08:01 1234      /lib/libc.so.6".
static bool next_file(list *list, mapping *found) {
  for (;;) {
    if (!next_number(list, &found->start) || !next_number(list, &found->end) || !skip_word(list)
        || !next_number(list, &found->offset) || !skip_word(list)) {
      return false;
    }
    int byte;
    do byte = next_byte(list);
    while (byte >= '0' && byte <= '9');
    while (byte == ' ') byte = next_byte(list);
    size_t length = 0;
    for (; byte >= 0 && byte != '\n'; byte = next_byte(list)) {
      if (length < sizeof memory.path - 1) memory.path[length++] = (char)byte;
    }
    memory.path[length] = 0;
    if (memory.path[0] == '/') return true;
    if (byte < 0) return false;
  }
}

static int open_list(void) { return open("/proc/self/maps", O_RDONLY | O_CLOEXEC); }

static uint64_t count_files(void) {
  list list = {.descriptor = open_list()};
  if (list.descriptor < 0) return 0;
  uint64_t count = 0;
  mapping found;
  while (next_file(&list, &found)) count++;
  close(list.descriptor);
  return count;
}

// MARK: Notes

/// Writes a note's head; returns where its contents begin.
static uint64_t begin_note(output *output, uint64_t offset, uint32_t kind, uint64_t size) {
  const struct {
    Elf64_Nhdr head;
    char name[8];
  } note = {{.n_namesz = 5, .n_descsz = (uint32_t)size, .n_type = kind}, "CORE"};
  put(output, &note, sizeof note, offset);
  return offset + sizeof note;
}

/// When the file was written: a copy of it is newer. A note under the library's own name, as `CoreFile` of the tool expects it.
static uint64_t put_moment(output *output, uint64_t offset) {
  const struct __attribute__((packed)) {
    Elf64_Nhdr head;
    char name[16];
    uint64_t uptime;
  } note = {{.n_namesz = sizeof "GrandCentral", .n_descsz = sizeof(uint64_t), .n_type = GC_INSIGHT_NOTE_MOMENT},
            "GrandCentral",
            gc_clock_uptime()};
  put(output, &note, sizeof note, offset);
  return offset + sizeof note;
}

static uint64_t put_process(output *output, uint64_t offset, const gc_insight_head *parts) {
  char contents[PROCESS_SIZE] = {0};
  memcpy(contents + PROCESS_NUMBER, &parts->pid, sizeof parts->pid);
  int file = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    ssize_t length = read(file, contents + PROCESS_NAME, 15);
    if (length > 0 && contents[PROCESS_NAME + length - 1] == '\n') contents[PROCESS_NAME + length - 1] = 0;
    close(file);
  }
  offset = begin_note(output, offset, NT_PRPSINFO, sizeof contents);
  put(output, contents, sizeof contents, offset);
  return offset + sizeof contents;
}

static uint64_t put_threads(output *output, uint64_t offset, char *base, const gc_insight_head *parts) {
  for (uint32_t index = 0; index < parts->threads.count && !output->failed; index++) {
    const gc_insight_thread *entry = (void *)(base + parts->threads.offset + (uint64_t)index * sizeof *entry);
    // relaxed: whether a thread lives may change at any time.
    uint32_t tid = __atomic_load_n(&entry->tid, __ATOMIC_RELAXED);
    if (tid == 0) continue;
    offset = begin_note(output, offset, NT_PRSTATUS, STATUS_SIZE);
    put(output, &tid, sizeof tid, offset + STATUS_THREAD);
    offset += STATUS_SIZE;
  }
  return offset;
}

/// The region comes first, whatever else is mapped or unmapped meanwhile.
static uint64_t put_files(output *output, uint64_t offset, char *base, const gc_insight_head *parts) {
  static const char region[] = "/memfd:" GC_INSIGHT_NAME " (deleted)";
  // There is room for some that are mapped between the two readings.
  uint64_t count = 1 + count_files() + 64, index = 1;
  const uint64_t contents = offset + sizeof(Elf64_Nhdr) + 8, page = 1;
  uint64_t path = contents + (2 + 3 * count) * sizeof(uint64_t);
  const mapping own = {.start = (uintptr_t)base, .end = (uintptr_t)base + parts->size};
  put(output, &count, sizeof count, contents);
  put(output, &page, sizeof page, contents + sizeof count);
  put(output, &own, sizeof own, contents + 2 * sizeof(uint64_t));
  put(output, region, sizeof region, path);
  path += sizeof region;
  list list = {.descriptor = open_list()};
  mapping found;
  while (list.descriptor >= 0 && index < count && next_file(&list, &found)) {
    if (found.start >= own.start && found.start < own.end) continue;
    size_t length = strlen(memory.path) + 1;
    put(output, &found, sizeof found, contents + (2 + 3 * index) * sizeof(uint64_t));
    put(output, memory.path, length, path);
    path += length;
    index++;
  }
  if (list.descriptor >= 0) close(list.descriptor);
  // What is never written of the file is zeros: an empty range, and an empty path.
  path += count - index;
  begin_note(output, offset, NT_FILE, path - contents);
  return (path + 3) & ~UINT64_C(3);
}

// MARK: The region

/// An array whose entries have a counter that tells whether a copy is whole. An entry that changes all the time is left out.
static void put_entries(output *output, uint64_t begin, char *base, gc_insight_part part, uint32_t used, size_t size,
                        size_t sequence) {
  const uint32_t room = (uint32_t)(sizeof memory.copies / size);
  if (used > part.count) used = part.count;
  for (uint32_t index = 0; index < used && !output->failed; index += room) {
    uint32_t count = used - index < room ? used - index : room;
    const uint64_t place = part.offset + (uint64_t)index * size;
    for (uint32_t each = 0; each < count; each++) {
      char *entry = base + place + each * size, *copy = memory.copies + each * size;
      if (!gc_insight_copy_whole(copy, entry, size, (uint32_t *)(void *)(entry + sequence))) memset(copy, 0, size);
    }
    put(output, memory.copies, count * size, begin + place);
  }
}

/// The records that are whole now. A chunk that its thread begins anew meanwhile is left out.
static void put_chunk(output *output, uint64_t place, gc_insight_chunk *chunk) {
  struct {
    uint32_t state, count;
  } head;
  // pairs with: RecorderChunks – publishes the number, and the records up to the count
  head.state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);
  if (head.state == GC_CHUNK_FREE) return;
  uint64_t number = __atomic_load_n(&chunk->number, __ATOMIC_ACQUIRE);
  head.count = __atomic_load_n(&chunk->count, __ATOMIC_ACQUIRE);
  put_shared(output, (const char *)chunk, sizeof *chunk, place);
  // The copy was made before this look. pairs with: the fence in RecorderChunks
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  bool is_same = __atomic_load_n(&chunk->number, __ATOMIC_RELAXED) == number;
  if (!is_same) head.state = GC_CHUNK_FREE;
  put(output, &head, sizeof head, place);
}

static void put_region(output *output, uint64_t begin, char *base, const gc_insight_head *parts) {
  gc_insight_head head;
  gc_insight_copy(&head, gc_insight_own_head(), sizeof head);
  put_entries(output, begin, base, parts->threads, head.threads_used, sizeof(gc_insight_thread),
              offsetof(gc_insight_thread, sequence));
  put_entries(output, begin, base, parts->objects, head.objects_used, sizeof(gc_insight_object),
              offsetof(gc_insight_object, sequence));
  uint32_t names = head.names_used < parts->names.count ? head.names_used : parts->names.count;
  put_shared(output, base + parts->names.offset, names * sizeof(gc_insight_name), begin + parts->names.offset);
  for (uint32_t index = 0; index < head.chunks_used && index < parts->chunks.count && !output->failed; index++) {
    uint64_t place = parts->chunks.offset + (uint64_t)index * GC_INSIGHT_CHUNK_SIZE;
    put_chunk(output, begin + place, (void *)(base + place));
  }
  put(output, &head, sizeof head, begin);
}

// MARK: All of it

static bool write_core(int descriptor, char *base, const gc_insight_head *parts) {
  struct stat file;
  // Where each write goes to the end of the file, the kernel ignores the place that it is told.
  int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || (flags & O_APPEND) || fstat(descriptor, &file) != 0 || !S_ISREG(file.st_mode)) return false;
  if (ftruncate(descriptor, 0) != 0) return false;
  output output = {.descriptor = descriptor};
  const uint64_t notes = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
  uint64_t end = put_process(&output, notes, parts);
  end = put_threads(&output, end, base, parts);
  end = put_files(&output, end, base, parts);
  end = put_moment(&output, end);
  const uint64_t begin = (end + PAGE - 1) & ~(PAGE - 1);
  if (output.failed || ftruncate(descriptor, (off_t)(begin + parts->size)) != 0) return false;
  put_region(&output, begin, base, parts);
  const struct {
    Elf64_Ehdr file;
    Elf64_Phdr notes, region;
  } head = {
      .file = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
               .e_type = ET_CORE,
               .e_machine = MACHINE,
               .e_version = EV_CURRENT,
               .e_phoff = sizeof(Elf64_Ehdr),
               .e_ehsize = sizeof(Elf64_Ehdr),
               .e_phentsize = sizeof(Elf64_Phdr),
               .e_phnum = 2},
      .notes = {.p_type = PT_NOTE, .p_offset = notes, .p_filesz = end - notes, .p_align = 4},
      .region = {.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = begin, .p_vaddr = (uintptr_t)base,
                 .p_filesz = parts->size, .p_memsz = parts->size, .p_align = PAGE},
  };
  put(&output, &head, sizeof head, 0);
  return !output.failed;
}

/// Waits for the memory for so many milliseconds at most.
static bool take_memory(uint32_t patience) {
  // pairs with: gc_insight_write_core – publishes that the memory is not used any more
  while (__atomic_exchange_n(&memory.is_used, true, __ATOMIC_ACQUIRE)) {
    if (patience-- == 0) return false;
    gc_nanosleep_whole(1000000);
  }
  return true;
}

bool gc_insight_write_core(int descriptor, uint32_t patience) {
  gc_insight_head parts;
  char *base = gc_insight_dumped(&parts);
  int former = errno;
  if (base == NULL || !take_memory(patience)) {
    errno = former;
    return false;
  }
  // A file that becomes larger than the process's files may be is a signal to the thread, which would end the process.
  sigset_t limit, mask;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &limit, &mask);
  bool is_written = write_core(descriptor, base, &parts);
  const struct timespec at_once = {0, 0};
  if (!is_written) sigtimedwait(&limit, NULL, &at_once);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  __atomic_store_n(&memory.is_used, false, __ATOMIC_RELEASE);
  errno = former;
  return is_written;
}

void gc_insight_forget_core(void) { __atomic_store_n(&memory.is_used, false, __ATOMIC_RELEASE); }

#pragma clang attribute pop
