// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Nothing is declared here: look at a running process with the tool, or with a signal.

#ifndef DISPATCH_INTROSPECTION_H
#define DISPATCH_INTROSPECTION_H

#include <dispatch/base.h>

DISPATCH_ASSUME_NONNULL_BEGIN



DISPATCH_ASSUME_NONNULL_END

#endif
