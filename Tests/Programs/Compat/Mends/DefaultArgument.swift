// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Names: adopt --public; then adopt --public
// Says: … cannot be used in a default argument value because 'GrandCentral' was not imported by this file

import Dispatch

#if MENDED
  import GrandCentral
#endif

public func start(qos: DispatchQoS = .unspecified) {}
