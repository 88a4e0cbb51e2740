// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A loop whose iterations run side by side; then with a stride, so that a block has several iterations to do.
//
// Prints, in any order:
//   0
//   1
//   2
//   3
//   4
//   the same sum as one after the other, with 137 and with 138 blocks

#include <dispatch/dispatch.h>
#include <stdatomic.h>
#include <stdint.h>

#include "expect.h"

static _Atomic uint64_t sum;
static _Atomic unsigned blocks;

static uint64_t work(size_t i) { return (uint64_t)i * i + 1; }

/// The sum over all iterations, each block doing `stride` of them.
static uint64_t strided(size_t count, size_t stride, dispatch_queue_t queue) {
  sum = 0;
  blocks = 0;
  dispatch_apply(count / stride, queue, ^(size_t idx) {
    size_t j = idx * stride;
    size_t j_stop = j + stride;
    uint64_t part = 0;
    do {
      part += work(j++);
    } while (j < j_stop);
    sum += part;
    blocks++;
  });
  // What the stride leaves over.
  size_t i;
  for (i = count - (count % stride); i < count; i++) sum += work(i);
  return sum;
}

int main(void) {
  unsigned count = 5;
  dispatch_queue_t queue = dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0);

  dispatch_apply(count, queue, ^(size_t i) {
    printf("%u\n", (unsigned)i);
  });

  uint64_t expected = 0;
  for (size_t i = 0; i < 137 * 73 + 5; i++) expected += work(i);
  expect(strided(137 * 73 + 5, 73, queue) == expected);
  expect(blocks == 137);
  expected = 0;
  for (size_t i = 0; i < 138 * 4; i++) expected += work(i);
  expect(strided(138 * 4, 4, queue) == expected);
  expect(blocks == 138);
  printf("the same sum as one after the other, with 137 and with 138 blocks\n");
}
