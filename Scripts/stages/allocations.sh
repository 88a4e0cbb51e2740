#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: allocations per operation, counted
# Budget: 420
# Ahead: swift build -c release --package-path Benchmarks --product benchmark

. Scripts/lib.sh

Scripts/benchmark allocations
