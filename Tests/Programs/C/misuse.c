// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// C4: misuses the interface in the way that its argument names, and should not live to return.

#include <dispatch/dispatch.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern void dispatch_source_cancel_and_wait(dispatch_source_t source);
extern void dispatch_queue_set_width(dispatch_queue_t queue, long width);
typedef void (*outcome_function_t)(void *context, dispatch_data_t data, int error);
typedef void (*pieces_function_t)(void *context, bool done, dispatch_data_t data, int error);
extern void dispatch_read_f(dispatch_fd_t fd, size_t length, dispatch_queue_t queue, void *context, outcome_function_t outcome);
extern void dispatch_write_f(
    dispatch_fd_t fd, dispatch_data_t data, dispatch_queue_t queue, void *context, outcome_function_t outcome);
extern void dispatch_io_read_f(
    dispatch_io_t io, off_t offset, size_t length, dispatch_queue_t queue, void *context, pieces_function_t pieces);
extern void dispatch_io_write_f(
    dispatch_io_t io, off_t offset, dispatch_data_t data, dispatch_queue_t queue, void *context, pieces_function_t pieces);

static void nothing(void *context) { (void)context; }

static void give_up(void *queue) { dispatch_release((dispatch_queue_t)queue); }

static void again(void *queue) { dispatch_sync_f((dispatch_queue_t)queue, NULL, nothing); }

// Descriptors, channels and data without a handler, or without data.
static void misuse_transfers(const char *way, dispatch_queue_t queue) {
  void *volatile null = NULL;
  int ends[2];
  if (pipe(ends) != 0) return;
#if DISPATCH_BLOCKS
  typedef void (^outcome_t)(dispatch_data_t data, int error);
  dispatch_io_t channel = dispatch_io_create(DISPATCH_IO_STREAM, ends[0], queue, ^(int error) {
    (void)error;
  });
  if (!strcmp(way, "null-for-read")) dispatch_read(ends[0], 1, queue, (outcome_t)null);
  if (!strcmp(way, "null-for-write")) dispatch_write(ends[1], dispatch_data_empty, queue, (outcome_t)null);
  if (!strcmp(way, "null-for-io-read")) dispatch_io_read(channel, 0, 1, queue, (dispatch_io_handler_t)null);
  if (!strcmp(way, "null-for-io-write")) {
    dispatch_io_write(channel, 0, dispatch_data_empty, queue, (dispatch_io_handler_t)null);
  }
  if (!strcmp(way, "null-for-io-read-f")) dispatch_io_read_f(channel, 0, 1, queue, NULL, (pieces_function_t)null);
  if (!strcmp(way, "null-for-io-write-f")) {
    dispatch_io_write_f(channel, 0, dispatch_data_empty, queue, NULL, (pieces_function_t)null);
  }
  if (!strcmp(way, "null-for-apply")) {
    dispatch_data_apply((dispatch_data_t)null, ^bool(dispatch_data_t region, size_t offset, const void *buffer, size_t size) {
      (void)region;
      (void)buffer;
      return offset == size;
    });
  }
#endif
  if (!strcmp(way, "null-for-read-f")) dispatch_read_f(ends[0], 1, queue, NULL, (outcome_function_t)null);
  if (!strcmp(way, "null-for-write-f")) {
    dispatch_write_f(ends[1], dispatch_data_empty, queue, NULL, (outcome_function_t)null);
  }
}

int main(int count, char **arguments) {
  const char *way = count == 2 ? arguments[1] : "";
  // Not a constant: compilers would see NULL where it may not be.
  void *volatile null = NULL;
  dispatch_queue_t queue = dispatch_queue_create("misused", NULL);
  if (!strcmp(way, "null-queue")) dispatch_async_f((dispatch_queue_t)null, NULL, nothing);
  if (!strcmp(way, "null-function")) dispatch_async_f(queue, NULL, (dispatch_function_t)null);
  if (!strcmp(way, "null-object")) dispatch_release((dispatch_queue_t)null);
  if (!strcmp(way, "null-group")) dispatch_group_leave((dispatch_group_t)null);
  if (!strcmp(way, "null-semaphore")) dispatch_semaphore_signal((dispatch_semaphore_t)null);
  if (!strcmp(way, "null-source")) dispatch_source_cancel((dispatch_source_t)null);
  if (!strcmp(way, "not-an-item")) {
#if DISPATCH_BLOCKS
    dispatch_block_cancel(^{
    });
#endif
  }
  if (!strcmp(way, "sync-on-itself")) dispatch_sync_f(queue, queue, again);
  if (!strcmp(way, "release-inside")) dispatch_sync_f(queue, queue, give_up);
  if (!strcmp(way, "resume")) dispatch_resume(queue);
  if (!strcmp(way, "leave")) dispatch_group_leave(dispatch_group_create());
  if (!strcmp(way, "assertion")) dispatch_assert_queue(queue);
  if (!strcmp(way, "width")) dispatch_queue_set_width(queue, 4);
  if (!strcmp(way, "cancel-and-wait")) {
    dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_DATA_ADD, 0, 0, queue);
    dispatch_source_set_cancel_handler_f(source, nothing);
    dispatch_source_cancel_and_wait(source);
  }
  if (!strcmp(way, "merge-into-timer")) {
    dispatch_source_merge_data(dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, 0, queue), 1);
  }
  if (!strcmp(way, "time-for-signal")) {
    dispatch_source_set_timer(
        dispatch_source_create(DISPATCH_SOURCE_TYPE_SIGNAL, SIGUSR1, 0, queue), DISPATCH_TIME_NOW, DISPATCH_TIME_FOREVER, 0);
  }
  if (!strncmp(way, "null-for-", 9)) misuse_transfers(way, queue);
  printf("survived %s\n", way);
  return 0;
}
