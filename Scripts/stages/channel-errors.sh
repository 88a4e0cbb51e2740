#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: what channels tell about failures, by the toolchain's library, against Documentation/ChannelErrors.md
# Budget: 120

. Scripts/lib.sh

# That ours say the same is a test: IOTests.
folder=$OUT/channel-errors
mkdir -p "$folder"
swiftc -swift-version 6 -D TOOLCHAIN -o "$folder/toolchain" Tests/Programs/ChannelErrors/*.swift
"$folder/toolchain" all >"$folder/found"
grep -E '^\| (root|user) \|' Documentation/ChannelErrors.md >"$folder/expected"
[ "$(id -u)" -eq 0 ] || sed -i '/^| root |/d' "$folder/expected"
diff "$folder/expected" "$folder/found" || fail "the toolchain's library says something else"
fact "$(wc -l <"$folder/found") cases"
