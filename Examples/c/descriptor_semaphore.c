// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A semaphore keeps a program below its limit of descriptors, however many tasks open files.
//
// Prints:
//   200 tasks, never more than 16 files

#include <dispatch/dispatch.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "expect.h"

int main(void) {
  // A small table, so that the tasks would run into its end without the semaphore.
  struct rlimit limit = {32, 32};
  expect(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  // Half of the table is for the rest of the program.
  dispatch_semaphore_t fd_sema = dispatch_semaphore_create(getdtablesize() / 2);
  dispatch_group_t group = dispatch_group_create();
  __block atomic_int opened = 0, most = 0, tasks = 0;

  for (int i = 0; i < 200; i++) {
    dispatch_group_async(group, dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0), ^{
      // Waits until a descriptor is free.
      dispatch_semaphore_wait(fd_sema, DISPATCH_TIME_FOREVER);
      int fd = open("/etc/services", O_RDONLY);
      if (fd < 0 && errno == ENOENT) fd = open("/dev/null", O_RDONLY);
      expect(fd >= 0);
      int now = ++opened;
      int seen = most;
      while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now)) {
      }
      usleep(200);
      opened--;
      close(fd);
      dispatch_semaphore_signal(fd_sema);
      tasks++;
    });
  }
  dispatch_group_wait(group, DISPATCH_TIME_FOREVER);
  expect(most > 0 && most <= 16);
  printf("%d tasks, never more than 16 files\n", tasks);
  dispatch_release(group);
  dispatch_release(fd_sema);
}
