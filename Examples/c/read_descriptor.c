// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A read source: the handler is told how much can be read, and runs again while something is left.
//
// Prints:
//   pipe: 5 bytes can be read
//   file: 100000 bytes, the ones that were written
//   file: the descriptor is closed

#include <dispatch/dispatch.h>
#include <string.h>
#include <unistd.h>

#include "expect.h"

static char path[] = "/tmp/read_descriptor-XXXXXX";
static const size_t size = 100000;
static size_t seen;

/// Whether that was all.
static Boolean MyProcessFileData(char *buffer, ssize_t actual) {
  expect(actual >= 0);
  for (ssize_t i = 0; i < actual; i++, seen++) expect(buffer[i] == (char)('a' + seen % 26));
  if (seen == size) printf("file: %zu bytes, the ones that were written\n", seen);
  return seen == size;
}

static dispatch_source_t ProcessContentsOfFile(const char *filename) {
  int fd = open(filename, O_RDONLY);
  if (fd == -1) return NULL;
  // The handler must not block its thread.
  fcntl(fd, F_SETFL, O_NONBLOCK);

  dispatch_queue_t queue = dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0);
  dispatch_source_t readSource = dispatch_source_create(DISPATCH_SOURCE_TYPE_READ, (uintptr_t)fd, 0, queue);
  if (!readSource) {
    close(fd);
    return NULL;
  }

  dispatch_source_set_event_handler(readSource, ^{
    size_t estimated = dispatch_source_get_data(readSource) + 1;
    char *buffer = (char *)malloc(estimated);
    if (buffer) {
      ssize_t actual = read(fd, buffer, (estimated));
      Boolean done = MyProcessFileData(buffer, actual);
      free(buffer);

      if (done) dispatch_source_cancel(readSource);
    }
  });

  dispatch_source_set_cancel_handler(readSource, ^{
    close(fd);
    printf("file: the descriptor is closed\n");
    exit(0);
  });

  dispatch_resume(readSource);
  return readSource;
}

static void makeFile(void) {
  int fd = mkstemp(path);
  expect(fd >= 0);
  char *bytes = malloc(size);
  for (size_t i = 0; i < size; i++) bytes[i] = (char)('a' + i % 26);
  expect(write(fd, bytes, size) == (ssize_t)size);
  free(bytes);
  close(fd);
}

int main(void) {
  int ends[2];
  expect(pipe(ends) == 0);
  int myDescriptor = ends[0];
  dispatch_queue_t myQueue = dispatch_queue_create("com.example.read", NULL);
  dispatch_semaphore_t read_once = dispatch_semaphore_create(0);

  dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_READ, (uintptr_t)myDescriptor, 0, myQueue);
  dispatch_source_set_event_handler(source, ^{
    // The block has taken the source along.
    size_t estimated = dispatch_source_get_data(source);

    char buffer[16];
    expect(read(myDescriptor, buffer, sizeof buffer) == 5 && memcmp(buffer, "bytes", 5) == 0);
    printf("pipe: %zu bytes can be read\n", estimated);
    dispatch_semaphore_signal(read_once);
  });
  dispatch_resume(source);
  expect(write(ends[1], "bytes", 5) == 5);
  dispatch_semaphore_wait(read_once, DISPATCH_TIME_FOREVER);
  dispatch_source_cancel(source);

  makeFile();
  expect(ProcessContentsOfFile(path) != NULL);
  expect(ProcessContentsOfFile("/nowhere/at/all") == NULL);
  unlink(path);
  dispatch_main();
}
