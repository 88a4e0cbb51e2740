#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: no operation is slower than the toolchain's Dispatch
# Budget: 500

. Scripts/lib.sh

Scripts/benchmark duel --quick --gate

# E10: and beside two busy processes no wait takes several times as long as theirs.
Scripts/benchmark duel --quick --gate --neighbours 2
