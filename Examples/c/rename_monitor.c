// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A source on a file system object: it watches the file whatever its name is, and so sees more than one renaming.
//
// Prints:
//   was called one; is now called two
//   was called one; is now called three
//   no longer watched

#include <dispatch/dispatch.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "expect.h"

static dispatch_semaphore_t renamed, closed;

static void MyUpdateFileName(const char *oldFilename, int fd) {
  char link[64], name[PATH_MAX] = {0}, old[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  expect(readlink(link, name, sizeof name - 1) > 0);
  snprintf(old, sizeof old, "%s", oldFilename);
  printf("was called %s; ", basename(old));
  printf("is now called %s\n", basename(name));
  dispatch_semaphore_signal(renamed);
}

static dispatch_source_t MonitorNameChangesToFile(const char *filename) {
  int fd = open(filename, O_EVTONLY);
  if (fd == -1) return NULL;

  dispatch_queue_t queue = dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0);
  dispatch_source_t source =
      dispatch_source_create(DISPATCH_SOURCE_TYPE_VNODE, (uintptr_t)fd, DISPATCH_VNODE_RENAME, queue);
  if (source) {
    // The name is the source's own.
    size_t length = strlen(filename);
    char *newString = (char *)malloc(length + 1);
    newString = strcpy(newString, filename);
    dispatch_set_context(source, newString);

    dispatch_source_set_event_handler(source, ^{
      const char *oldFilename = (char *)dispatch_get_context(source);
      MyUpdateFileName(oldFilename, fd);
    });

    dispatch_source_set_cancel_handler(source, ^{
      char *fileStr = (char *)dispatch_get_context(source);
      free(fileStr);
      close(fd);
      printf("no longer watched\n");
      dispatch_semaphore_signal(closed);
    });

    dispatch_resume(source);
  } else
    close(fd);

  return source;
}

int main(void) {
  char folder[] = "/tmp/rename_monitor-XXXXXX";
  expect(mkdtemp(folder) != NULL && chdir(folder) == 0);
  close(open("one", O_CREAT | O_WRONLY, 0600));
  renamed = dispatch_semaphore_create(0);
  closed = dispatch_semaphore_create(0);
  dispatch_semaphore_t watching = dispatch_semaphore_create(0);

  dispatch_source_t source = MonitorNameChangesToFile("one");
  expect(source != NULL);
  // A change before the kernel watches would not be seen.
  dispatch_source_set_registration_handler(source, ^{
    dispatch_semaphore_signal(watching);
  });
  dispatch_semaphore_wait(watching, DISPATCH_TIME_FOREVER);

  expect(rename("one", "two") == 0);
  dispatch_semaphore_wait(renamed, DISPATCH_TIME_FOREVER);
  expect(rename("two", "three") == 0);
  dispatch_semaphore_wait(renamed, DISPATCH_TIME_FOREVER);

  dispatch_source_cancel(source);
  dispatch_release(source);
  dispatch_semaphore_wait(closed, DISPATCH_TIME_FOREVER);
  unlink("three");
  rmdir(folder);
}
