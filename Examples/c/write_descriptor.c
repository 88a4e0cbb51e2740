// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A write source: the handler runs once there is room, writes, and cancels.
//
// Prints:
//   closed; the file has what was written

#include <dispatch/dispatch.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "expect.h"

static const char text[] = "what is to be written\n";
static char path[] = "/tmp/write_descriptor-XXXXXX";
static dispatch_semaphore_t closed;

static size_t MyGetDataSize(void) { return sizeof text - 1; }

static size_t MyGetData(void *buffer, size_t length) {
  memcpy(buffer, text, length);
  return length;
}

static dispatch_source_t WriteDataToFile(const char *filename) {
  int fd = open(filename, O_WRONLY | O_CREAT | O_TRUNC, (S_IRUSR | S_IWUSR | S_ISUID | S_ISGID));
  if (fd == -1) return NULL;
  // No flags: the write blocks.
  fcntl(fd, F_SETFL, 0);

  dispatch_queue_t queue = dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0);
  dispatch_source_t writeSource = dispatch_source_create(DISPATCH_SOURCE_TYPE_WRITE, (uintptr_t)fd, 0, queue);
  if (!writeSource) {
    close(fd);
    return NULL;
  }

  dispatch_source_set_event_handler(writeSource, ^{
    size_t bufferSize = MyGetDataSize();
    void *buffer = malloc(bufferSize);

    size_t actual = MyGetData(buffer, bufferSize);
    expect(write(fd, buffer, actual) == (ssize_t)actual);

    free(buffer);

    // The caller of this function releases the source.
    dispatch_source_cancel(writeSource);
  });

  dispatch_source_set_cancel_handler(writeSource, ^{
    close(fd);
    dispatch_semaphore_signal(closed);
  });
  dispatch_resume(writeSource);
  return (writeSource);
}

int main(void) {
  closed = dispatch_semaphore_create(0);
  close(mkstemp(path));
  dispatch_source_t source = WriteDataToFile(path);
  expect(source != NULL);
  dispatch_semaphore_wait(closed, DISPATCH_TIME_FOREVER);
  dispatch_release(source);

  char buffer[64] = {0};
  FILE *file = fopen(path, "r");
  expect(file != NULL && fread(buffer, 1, sizeof buffer, file) == sizeof text - 1 && strcmp(buffer, text) == 0);
  fclose(file);
  unlink(path);
  printf("closed; the file has what was written\n");
}
