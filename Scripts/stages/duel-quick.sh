#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: no operation is slower than the toolchain's Dispatch
# Budget: 420

. Scripts/lib.sh

benchmark duel --quick --gate
