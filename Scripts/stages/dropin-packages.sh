#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the tests of swift-async-algorithms fail on our libdispatch.so only where they fail on the toolchain's, and use no more
# Budget: 300

. Scripts/lib.sh

# C2: a package's own tests, as it has them. `Scripts/packages` runs larger ones too.
Scripts/packages --selftest
Scripts/packages-sim --selftest
ready_dropin
Scripts/packages --prefix "$DROPIN" swift-async-algorithms
