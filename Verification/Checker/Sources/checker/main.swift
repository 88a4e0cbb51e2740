// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CheckerCore
@testable import GrandCentral

let parker = Parker()
parker.unpark()
print(parker.park())
