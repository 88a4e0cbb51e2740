#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""A trace of a program that nobody has built for it names the functions, blocks and closures that the program hands over.

    Scripts/trace_names.py TOOL LIBRARY-FOLDER FOLDER

The programs of Tests/Programs/Named are compiled against the toolchain's Dispatch, into FOLDER.
"""

import pathlib
import subprocess
import sys

from toolchain import toolchain

HERE = pathlib.Path(__file__).parent.parent / "Tests/Programs/Named"
THEIRS = toolchain()

IN_C = [
    "is_plain",
    "has_happened",
    "is_over",
    "has_begun",
    "__source_with_blocks_block_invoke",
    "__source_with_blocks_block_invoke_2",
    "__items_block_invoke",
    "__items_block_invoke_2",
]
IN_SWIFT = [
    "closure #1 @Sendable () -> () in named.plain() -> ()",
    "closure #1 @Sendable () -> () in named.capturing() -> ()",
    "named.function@Sendable () -> ()",
    "closure #1 @Sendable () -> () in named.grouped() -> ()",
    "closure #1 () -> () in named.item() -> ()",
    "closure #1 () -> () in named.timer() -> ()",
    "closure #2 () -> () in named.timer() -> ()",
]


def build(folder):
    """Each with what its trace must name."""
    runtime = [f"-L{THEIRS}/linux", f"-Wl,-rpath,{THEIRS}/linux", "-ldispatch", "-lBlocksRuntime"]
    in_c = f"{folder}/named-c"
    headers = [f"-I{THEIRS}", f"-I{THEIRS}/Block"]
    subprocess.run(["clang", "-fblocks", "-O1", *headers, HERE / "named.c", *runtime, "-o", in_c], check=True)
    yield in_c, IN_C
    for level in ("-Onone", "-O"):
        in_swift = f"{folder}/named{level}"
        command = ["swiftc", "-swift-version", "5", level, "-module-name", "named", HERE / "named.swift"]
        subprocess.run([*command, "-o", in_swift], check=True)
        yield in_swift, IN_SWIFT


def functions(tool, library, program):
    """The functions of the items of the queue, in the order of their names."""
    trace = program + ".trace"
    said = subprocess.check_output([tool, "trace", "--library", library, "-o", trace, "--", program], text=True)
    if said != "done\n":
        sys.exit(f"{program}: {said}")
    stacks = subprocess.check_output([tool, "trace", "convert", "--format", "stacks", "-o", "-", trace], text=True)
    lines = (line.rsplit(" ", 1)[0] for line in stacks.splitlines())
    return sorted(line.removeprefix("named;") for line in lines if line.startswith("named;"))


def main(tool, library, folder):
    for program, wanted in build(folder):
        found = functions(tool, library, program)
        missing = [name for name in wanted if name not in found]
        thunks = [name for name in found if "thunk" in name]
        if missing or thunks:
            sys.exit(f"{program}: {missing} are missing, {thunks} say nothing, in {found}")
        print(f"=> {pathlib.Path(program).name}: {len(wanted)} functions and closures have their names")


main(*sys.argv[1:])
