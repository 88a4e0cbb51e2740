// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What the compiler's hash tables ask for once, for their seed. glibc has it from 2.36 on, musl has it not.

#include <stdlib.h>

#if !defined(__GLIBC__)

#include <stdint.h>
#include <sys/random.h>
#include <time.h>

extern void arc4random_buf(void *memory, size_t size) __attribute__((__visibility__("hidden")));

void arc4random_buf(void *memory, size_t size) {
  unsigned char *bytes = memory;
  for (size_t done = 0; done < size;) {
    ssize_t count = getrandom(bytes + done, size - done, GRND_NONBLOCK);
    if (count <= 0) {
      // None yet, early in a machine's life, or never, behind a filter: a seed that others can guess is better than no program.
      bytes[done] = (unsigned char)((uintptr_t)memory >> 12) ^ (unsigned char)clock() ^ (unsigned char)time(NULL);
      count = 1;
    }
    done += (size_t)count;
  }
}

#endif
