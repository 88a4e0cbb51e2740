// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// The names by which programs of old know queue pools.

#ifndef DISPATCH_YY_DISPATCH_QUEUE_POOL_H
#define DISPATCH_YY_DISPATCH_QUEUE_POOL_H

#include <dispatch/pool.h>

enum {
  NSQualityOfServiceUserInteractive = 0x21,
  NSQualityOfServiceUserInitiated = 0x19,
  NSQualityOfServiceUtility = 0x11,
  NSQualityOfServiceBackground = 0x09,
  NSQualityOfServiceDefault = -1
};
typedef intptr_t NSQualityOfService;

/// A queue for a quality of service, from a pool that the process shares.
DISPATCH_INLINE dispatch_queue_t YYDispatchQueueGetForQOS(NSQualityOfService qos) {
  return dispatch_queue_pool_get_queue_for_qos(qos);
}

#endif
