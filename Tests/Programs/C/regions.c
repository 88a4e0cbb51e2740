// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// C2: the objects that stand for the regions of data. The toolchain's overlay of Dispatch for Swift asks for a region and its
// map at each `data[index]`, and leaves a reference behind. It must not cost an object each time.

#include "check.h"

#include <dispatch/dispatch.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COUNT = 1000, LENGTH = 700 };

// What is in one region already is its own map and its own region; a part has the same region each time.
static void same(void) {
  dispatch_data_t hello = dispatch_data_create("hello ", 6, NULL, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
  dispatch_data_t world = dispatch_data_create("world", 5, NULL, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
  dispatch_data_t both = dispatch_data_create_concat(hello, world);
  const void *bytes = NULL;
  size_t size = 0, offset = 7;
  dispatch_data_t map = dispatch_data_create_map(hello, &bytes, &size);
  dispatch_data_t region = dispatch_data_copy_region(hello, 3, &offset);
  CHECK(map == hello && region == hello && offset == 0 && size == 6 && memcmp(bytes, "hello ", 6) == 0);
  dispatch_data_t second = dispatch_data_copy_region(both, 6, &offset);
  dispatch_data_t again = dispatch_data_copy_region(both, 10, &offset);
  CHECK(second == again && offset == 6 && dispatch_data_get_size(second) == 5);
  dispatch_data_t first = dispatch_data_copy_region(both, 5, &offset);
  CHECK(first != second && offset == 0 && dispatch_data_get_size(first) == 6);
  dispatch_data_t beyond = dispatch_data_copy_region(both, 11, &offset);
  CHECK(beyond == dispatch_data_empty && offset == 11);
  dispatch_data_t none = dispatch_data_copy_region(dispatch_data_empty, 5, &offset);
  CHECK(none == dispatch_data_empty && offset == 0);
  dispatch_release(first);
  dispatch_release(again);
  dispatch_release(second);
  dispatch_release(region);
  dispatch_release(map);
  dispatch_release(both);
  dispatch_release(world);
  dispatch_release(hello);
}

// D2: many regions, backwards and forwards; their memory ends with the last reference, once.
static void many(void) {
  __block int freed = 0;
  dispatch_queue_t queue = dispatch_queue_create("freed", NULL);
  dispatch_data_t all = dispatch_data_empty;
  for (int i = 0; i < COUNT; i++) {
    void *memory = malloc(LENGTH);
    memset(memory, i, LENGTH);
    dispatch_data_t piece = dispatch_data_create(memory, LENGTH, queue, ^{
      free(memory);
      freed++;
    });
    dispatch_data_t joined = dispatch_data_create_concat(all, piece);
    dispatch_release(piece);
    dispatch_release(all);
    all = joined;
  }
  dispatch_data_t kept[COUNT];
  for (int i = COUNT - 1; i >= 0; i--) {
    size_t offset = 0, size = 0;
    const void *bytes = NULL;
    kept[i] = dispatch_data_copy_region(all, (size_t)i * LENGTH + (size_t)i % LENGTH, &offset);
    dispatch_data_t map = dispatch_data_create_map(kept[i], &bytes, &size);
    CHECK(map == kept[i] && offset == (size_t)i * LENGTH && size == LENGTH);
    CHECK(((const unsigned char *)bytes)[LENGTH - 1] == (unsigned char)i);
    dispatch_release(map);
  }
  for (int i = 0; i < COUNT; i++) {
    size_t offset = 0;
    dispatch_data_t region = dispatch_data_copy_region(all, (size_t)i * LENGTH, &offset);
    CHECK(region == kept[i]);
    dispatch_release(region);
  }
  dispatch_release(all);
  dispatch_sync(queue, ^{ CHECK(freed == 0); });
  for (int i = 0; i < COUNT; i++) dispatch_release(kept[i]);
  dispatch_sync(queue, ^{ CHECK(freed == COUNT); });
  dispatch_release(queue);
}

// Threads that ask for the regions of the same data at once get the same objects.
static void together(void) {
  dispatch_data_t all = dispatch_data_empty;
  for (int i = 0; i < COUNT; i++) {
    dispatch_data_t piece = dispatch_data_create("piece", 5, NULL, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    dispatch_data_t joined = dispatch_data_create_concat(all, piece);
    dispatch_release(piece);
    dispatch_release(all);
    all = joined;
  }
  dispatch_data_t *found = calloc(4 * COUNT, sizeof *found);
  dispatch_apply(4, DISPATCH_APPLY_AUTO, ^(size_t turn) {
    for (size_t i = 0; i < COUNT; i++) {
      size_t at = turn % 2 == 0 ? i : COUNT - 1 - i, offset = 0;
      found[turn * COUNT + at] = dispatch_data_copy_region(all, at * 5, &offset);
    }
  });
  for (size_t i = 0; i < COUNT; i++) {
    for (size_t turn = 0; turn < 4; turn++) {
      CHECK(found[turn * COUNT + i] == found[i]);
      if (turn > 0) dispatch_release(found[turn * COUNT + i]);
    }
    dispatch_release(found[i]);
  }
  free(found);
  dispatch_release(all);
}

// Processor time to ask for each of many regions of that length, in order.
static clock_t time_to_ask(size_t length) {
  enum { REGIONS = 8192 };
  static char bytes[1 << 16];
  dispatch_data_t piece = dispatch_data_create(bytes, length, NULL, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
  dispatch_data_t all = dispatch_data_empty;
  for (int i = 0; i < REGIONS; i++) {
    dispatch_data_t joined = dispatch_data_create_concat(all, piece);
    dispatch_release(all);
    all = joined;
  }
  clock_t start = clock();
  for (size_t i = 0; i < REGIONS; i++) {
    size_t offset = 0;
    dispatch_data_t region = dispatch_data_copy_region(all, i * length, &offset);
    CHECK(offset == i * length);
    dispatch_release(region);
  }
  clock_t time = clock() - start;
  dispatch_release(all);
  dispatch_release(piece);
  return time;
}

// A region's object is found as fast if the regions' length is a power of two.
static void even_lengths(void) {
  clock_t odd = time_to_ask((1 << 16) - 15), even = time_to_ask(1 << 16);
  CHECK(even <= 10 * odd);
}

// A destructor runs on the queue that it was given, or on the target that the data have been given since. A part of the data has
// a target of its own.
static void destroyed_on_target(void) {
  static char key;
  dispatch_queue_t first = dispatch_queue_create("first", NULL), second = dispatch_queue_create("second", NULL);
  dispatch_queue_set_specific(first, &key, first, NULL);
  dispatch_queue_set_specific(second, &key, second, NULL);
  dispatch_semaphore_t done = dispatch_semaphore_create(0);
  for (int way = 0; way < 8; way++) {
    int given = way & 1, changed = way & 2, of_part = way & 4;
    __block void *ran = NULL;
    dispatch_data_t data = dispatch_data_create("abc", 3, given ? first : NULL, ^{
      ran = dispatch_get_specific(&key);
      dispatch_semaphore_signal(done);
    });
    dispatch_data_t part = dispatch_data_create_subrange(data, 1, 1);
    if (changed) dispatch_set_target_queue(of_part ? part : data, second);
    dispatch_release(data);
    dispatch_release(part);
    dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
    CHECK(ran == (changed && !of_part ? (void *)second : given ? (void *)first : NULL));
  }
  dispatch_release(done);
  dispatch_release(second);
  dispatch_release(first);
}

// D4: each region is told with a handle of its own; one that is kept stays what it was, and one region alone is the data themselves.
static void applied(void) {
  dispatch_data_t whole = dispatch_data_create("0", 1, NULL, NULL);
  __block dispatch_data_t alone = NULL;
  CHECK(dispatch_data_apply(whole, ^bool(dispatch_data_t region, size_t at, const void *bytes, size_t size) {
    (void)bytes;
    alone = region;
    return at == 0 && size == 1;
  }));
  CHECK(alone == whole);
  for (char i = '1'; i <= '9'; i++) {
    dispatch_data_t more = dispatch_data_create(&i, 1, NULL, NULL), both = dispatch_data_create_concat(whole, more);
    dispatch_release(more);
    dispatch_release(whole);
    whole = both;
  }
  dispatch_data_t *kept = calloc(10, sizeof *kept);
  __block size_t calls = 0;
  CHECK(dispatch_data_apply(whole, ^bool(dispatch_data_t region, size_t at, const void *bytes, size_t size) {
    CHECK(at == calls && size == 1 && *(const char *)bytes == (char)('0' + at) && dispatch_data_get_size(region) == 1);
    if (at % 3 != 0) {
      dispatch_retain(region);
      kept[at] = region;
    }
    calls++;
    return true;
  }));
  CHECK(calls == 10);
  for (size_t i = 0; i < 10; i++) {
    if (!kept[i]) continue;
    const void *bytes;
    size_t size;
    dispatch_data_t map = dispatch_data_create_map(kept[i], &bytes, &size);
    CHECK(size == 1 && *(const char *)bytes == (char)('0' + i));
    dispatch_release(map);
    dispatch_release(kept[i]);
  }
  // It ends where it is told to.
  calls = 0;
  CHECK(!dispatch_data_apply(whole, ^bool(dispatch_data_t region, size_t at, const void *bytes, size_t size) {
    (void)region, (void)bytes, (void)size;
    calls++;
    return at < 4;
  }));
  CHECK(calls == 5);
  free(kept);
  dispatch_release(whole);
}

int main(void) {
  applied();
  same();
  destroyed_on_target();
  many();
  together();
  even_lengths();
  printf("%d checks\n", checks);
}
