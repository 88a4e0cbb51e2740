// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral

/// Whether the wall clock has come to that time. It may be put back by a little just then.
func hasCome(_ due: DispatchWallTime) -> Bool { DispatchWallTime.now() + .milliseconds(5) >= due }
