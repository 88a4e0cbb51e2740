//===- Polls.h - a poll that waits --------------------------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef GCS_POLLS_H
#define GCS_POLLS_H

#include "Descriptors.h"

#include <signal.h>
#include <sys/epoll.h>

/// Of the watch's descriptors; with room for events, of its only one, which is an epoll.
struct gcs_poll {
  struct gcs_watch *watch;
  struct epoll_event *events;
  int most;
  const sigset_t *mask;
};

/// How many are ready, within so many virtual nanoseconds. The watch has ended then.
int gcs_wait_for(const struct gcs_poll *poll, uint64_t timeout);

#endif
