#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the scripts themselves, by shellcheck
# Budget: 120

. Scripts/lib.sh

need shellcheck
shellcheck --source-path=. -x Scripts/check Scripts/lib.sh Scripts/embedded.sh Scripts/build-dropin Scripts/release Scripts/benchmark Scripts/fairness Scripts/site Scripts/archive.sh Scripts/stages/*.sh .ci/run
fact "$(find Scripts/stages -name '*.sh' | wc -l) stages"
