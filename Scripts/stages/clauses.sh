#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: every clause of the contract has a test
# Budget: 30

. Scripts/lib.sh

Scripts/clauses
