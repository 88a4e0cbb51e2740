// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What the programs that count their checks share.

#ifndef GRANDCENTRAL_TESTS_CHECK_H
#define GRANDCENTRAL_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

static int checks;

#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(1); \
    } \
    checks++; \
  } while (0)

#endif
