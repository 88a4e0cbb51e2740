// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Grand Central Dispatch: work in queues, on threads that the library looks after. This header includes the others.

#ifndef DISPATCH_DISPATCH_H
#define DISPATCH_DISPATCH_H

// What libdispatch's header brings along: programs leave it out, and rely on that.
#ifndef GRANDCENTRAL_BUILDING
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>
#endif

#include <dispatch/base.h>
#include <dispatch/time.h>
#include <dispatch/object.h>
#include <dispatch/queue.h>
#include <dispatch/block.h>
#include <dispatch/source.h>
#include <dispatch/group.h>
#include <dispatch/semaphore.h>
#include <dispatch/once.h>
#include <dispatch/data.h>
#include <dispatch/io.h>
#include <dispatch/workloop.h>
#include <dispatch/pool.h>

#endif
