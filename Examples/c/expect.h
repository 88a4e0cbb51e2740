// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What the examples share: a check that ends the program, and two names that Darwin's system headers have.

#ifndef EXPECT_H
#define EXPECT_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

/// Ends the program with a message unless the condition is true.
#define expect(condition)                                                                                              \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                          \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

#ifndef O_EVTONLY
#define O_EVTONLY O_RDONLY
#endif

typedef unsigned char Boolean;

#endif
