// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#include "CheckerSeam.h"
