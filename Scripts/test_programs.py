# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Runs the test programs that SwiftPM builds on one libdispatch or the other, and compares what fails."""

import dataclasses
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest.mock

import usage

# What a run may take, in seconds, and how long it may print nothing; a run that is stopped fails the test that it stands in.
PATIENCE = 3000
SILENCE = 100
ALONE = 300
# How often all tests run again on both, when ours has used too much.
AGAIN = 2
# A test that fails more often on ours runs at most so many times as often until it is clear whether that is chance.
MORE, UNLIKELY = 5, 0.01
# The longest argument that a test program is given.
ARGUMENT = 100_000


class Library:
    """One of the two, by the folder it lies in; None is what the program finds by itself."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        # What the processes use that have run on it since it was last taken.
        self.usage = usage.Usage()

    def take_usage(self):
        used, self.usage = self.usage, usage.Usage()
        return used

    def environment(self):
        own = {key: value for key, value in os.environ.items() if key not in ("LD_LIBRARY_PATH", "LD_PRELOAD")}
        return dict(own, LD_LIBRARY_PATH=str(self.folder)) if self.folder else own

    def verify(self, program):
        """The loader must take this library, and no other."""
        said = subprocess.run([program, "--list-tests"], env=dict(self.environment(), LD_DEBUG="libs"), check=True,
                              capture_output=True, text=True, errors="replace").stderr
        loaded = [os.path.realpath(path) for path in re.findall(r"calling init: (.*/libdispatch\.so)", said)]
        expected = [os.path.realpath(self.folder / "libdispatch.so")] if self.folder else loaded[:1]
        if not loaded or loaded != expected:
            sys.exit(f"{program} on {self.name} library loads {loaded}")
        return loaded[0]


def command_output(command, library, limit):
    """What a test program prints, and its status, or None. It is not waited for longer than `limit` seconds, nor for one that is silent."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, env=library.environment(), stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, cwd=pathlib.Path(command[0]).parents[3])
        watch = usage.Watch(process)
        status = watch.wait(limit, output, SILENCE)
        library.usage.add(watch.usage)
        output.seek(0)
        return output.read().decode(errors="replace"), status


class XCTests:
    """The tests written with XCTest: `Module.Class/test` in lists, `Class.test` in what is printed."""

    EVENT = re.compile(r"Test Case '([^'\n]+)' (started|passed|failed|skipped)")

    def __init__(self, program):
        self.program = str(program)

    def list(self):
        """What is printed of a test to what selects it."""
        text = subprocess.run([self.program, "--list-tests"], check=True, capture_output=True, text=True).stdout
        tests = re.findall(r"^(\S+)\.([^\s./]+)/(\S+)$", text, re.MULTILINE)
        return {f"{group}.{test}": f"{module}.{group}/{test}" for module, group, test in tests}

    def arguments(self, selected):
        """Groups of tests, none too long for an argument."""
        groups, length = [[]], 0
        for test in selected:
            if length + len(test) > ARGUMENT:
                groups.append([])
                length = 0
            groups[-1].append(test)
            length += len(test) + 1
        return [",".join(group) for group in groups if group]

    def run(self, library, selected, limit, everything=False):
        """Runs tests, `selected` as `list` has them: name to verdict. After a crash the others run without the one."""
        verdicts, commands = {}, [[self.program]] if everything else self.commands(selected.values())
        while commands:
            text, status = command_output(commands.pop(0), library, limit)
            current = None
            for name, event in self.EVENT.findall(text):
                current = name if event == "started" else None
                if event != "started":
                    verdicts[name] = event
            if current:
                verdicts[current] = "hung" if status is None else "crashed"
                rest = [selected[name] for name in selected if name not in verdicts]
                commands = self.commands(rest)
        return verdicts

    def commands(self, selected):
        return [[self.program, argument] for argument in self.arguments(selected)]

    @staticmethod
    def group(name):
        return name.rsplit(".", 1)[0]


class SwiftTests:
    """The tests written with Swift Testing, by their identifiers without the place in a file."""

    def __init__(self, program):
        self.program = str(program)

    def list(self):
        # With no test at all it ends with EX_UNAVAILABLE.
        text = subprocess.run([self.program, "--testing-library", "swift-testing", "--list-tests"], check=False,
                              capture_output=True, text=True).stdout
        tests = re.findall(r"^([^\s/]+\..+?\(.*?\))(?:/[^/\s]+:\d+:\d+)?$", text, re.MULTILINE)
        return {test: test for test in tests}

    def run(self, library, selected, limit, everything=False):
        verdicts = {}
        while True:
            with tempfile.NamedTemporaryFile(mode="r", suffix=".json", errors="replace") as stream:
                command = [self.program, "--testing-library", "swift-testing", "--event-stream-version", "0",
                           "--event-stream-output-path", stream.name]
                for test in [] if everything else selected:
                    command += ["--filter", "^" + re.escape(test)]
                _, status = command_output(command, library, limit)
                running = self.read(stream, verdicts)
            if not running:
                return verdicts
            # Tests run side by side: all that had begun are suspect.
            for name in running:
                verdicts[name] = "hung" if status is None else "crashed"
            selected = {name: name for name in selected if name not in verdicts}
            everything = False
            if not selected:
                return verdicts

    @staticmethod
    def read(stream, verdicts):
        """Adds the verdicts of an event stream; returns the tests without an end."""
        running = {}
        for line in stream:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            event = record.get("payload", {})
            name = re.sub(r"/[^/]+:\d+:\d+$", "", event.get("testID", ""))
            if record.get("kind") != "event" or not name.endswith(")"):
                continue
            kind = event["kind"]
            if kind == "testStarted":
                running[name] = True
            elif kind == "issueRecorded" and not event.get("issue", {}).get("isKnown"):
                verdicts[name] = "failed"
            elif kind == "testSkipped":
                verdicts[name] = "skipped"
            elif kind == "testEnded":
                running.pop(name, None)
                verdicts.setdefault(name, "passed")
        return running

    @staticmethod
    def group(name):
        return name.rsplit("/", 1)[0]


def fails(verdict):
    return verdict not in ("passed", "skipped")


def repeat(tests, libraries, selected, name, rounds):
    """How often a test fails on either library, run in turn."""
    counts = {library.name: 0 for library in libraries}
    for _ in range(rounds):
        for library in libraries:
            counts[library.name] += fails(tests.run(library, selected, ALONE).get(name))
    return counts


def judge(tests, libraries, listed, name, rounds):
    """Whether a test that has failed on our library only does so again. Returns (is a fault, words)."""
    words = []
    fellows = {other: key for other, key in listed.items() if tests.group(other) == tests.group(name)}
    for how, selected in (("alone", {name: listed[name]}), ("in its class", fellows)):
        ours = theirs = runs = 0
        # A test that fails now and then on either library fails more often on ours by chance: then it runs on, until that is clear.
        while runs < rounds or runs < MORE * rounds and ours > theirs and chance(ours, theirs, runs) > UNLIKELY:
            counts = repeat(tests, libraries, selected, name, rounds)
            ours, theirs = (before + counts[library.name] for before, library in zip((ours, theirs), libraries))
            runs += rounds
        words.append(f"{how} {ours} of {runs} on ours, {theirs} of {runs} on the toolchain's")
        if ours or theirs:
            return ours > theirs and chance(ours, theirs, runs) <= UNLIKELY, "; ".join(words)
    return False, "; ".join(words)


def chance(ours, theirs, runs):
    """How likely it is that of `ours + theirs` failures so many or more come on ours, where both fail equally often."""
    failures = ours + theirs
    ways = sum(math.comb(runs, here) * math.comb(runs, failures - here) for here in range(ours, min(runs, failures) + 1))
    return ways / math.comb(2 * runs, failures)


def select(tests, endless):
    """As `list`, without the classes `endless`."""
    return {name: key for name, key in tests.list().items() if tests.group(name) not in endless}


def everything(program, library, endless=()):
    """Runs all tests on a library, but for the classes `endless`: for each kind of tests the verdicts, what they took in seconds, and
    what they used."""
    begin = time.monotonic()
    library.take_usage()
    verdicts = []
    for tests in (XCTests(program), SwiftTests(program)):
        wanted = select(tests, endless)
        verdicts.append(tests.run(library, wanted, PATIENCE, everything=not endless) if wanted else {})
    return verdicts, time.monotonic() - begin, library.take_usage()


def contest(program, libraries, rounds, endless=()):
    """Runs all tests on both libraries, ours first, and judges what fails on ours only, and what ours uses. The classes `endless`
    do not run."""
    result = {"tests": 0, "skipped": 0, "both": [], "theirs": [], "ours": [], "unsteady": []}
    runs = [everything(program, library, endless) for library in libraries]
    result["seconds"] = [round(seconds, 1) for _, seconds, _ in runs]
    result.update(judge_usage(program, libraries, endless, [used for _, _, used in runs]))
    for tests, ours, theirs in zip((XCTests(program), SwiftTests(program)), *(verdicts for verdicts, _, _ in runs)):
        listed = select(tests, endless)
        result["tests"] += len(listed)
        for name in listed:
            on_ours, on_theirs = ours.get(name, "not run"), theirs.get(name, "not run")
            result["skipped"] += on_ours == on_theirs == "skipped"
            if fails(on_ours) and fails(on_theirs):
                result["both"].append(name)
            elif fails(on_theirs):
                result["theirs"].append(name)
            elif fails(on_ours):
                is_fault, words = judge(tests, libraries, listed, name, rounds)
                result["ours" if is_fault else "unsteady"].append(f"{name} ({on_ours}): {words}")
    return result


def judge_usage(program, libraries, endless, used):
    """What both use. If ours is over a bar, both run again in turn, and the medians count."""
    runs = 1
    if usage.over(*used):
        more = [used]
        for _ in range(AGAIN):
            more.append([everything(program, library, endless)[2] for library in libraries])
        used = [usage.median(column) for column in zip(*more)]
        runs += AGAIN
    return {"usage": [dataclasses.asdict(one) for one in used], "runs": runs, "over": usage.over(*used)}


def endure(program, libraries, pattern, rounds):
    """Runs the tests that a pattern finds, each alone, often on both in turn: name to (on ours, on the toolchain's)."""
    failed = {}
    for tests in (XCTests(program), SwiftTests(program)):
        listed = tests.list()
        for name in listed:
            if re.search(pattern, name):
                counts = repeat(tests, libraries, {name: listed[name]}, name, rounds)
                failed[name] = [counts[library.name] for library in libraries]
    return failed


# A test program that has found a fault: on "our" library a test fails, one ends the process, one fails by chance, and one
# takes much memory, until that has been seen.
FAULTY = """#!/bin/sh
[ "$1" != --testing-library ] || exit 69
if [ "$1" = --list-tests ]; then printf 'M.C/%s\\n' good greedy bad worse chance after; exit; fi
for test in $(echo "${1:-M.C/good,M.C/greedy,M.C/bad,M.C/worse,M.C/chance,M.C/after}" | tr , ' '); do
  name=C.${test#*/} verdict=passed
  echo "Test Case '$name' started at noon"
  case "${LD_LIBRARY_PATH:+ours}$name" in
    oursC.greedy)
      if [ -z "$1" ]; then
        kept=$(head -c 50000000 /dev/zero | tr '\\0' x)
        until [ -e "$0.$$.seen" ]; do sleep 0.01; done
      fi ;;
    oursC.bad) verdict=failed ;;
    oursC.worse) kill -9 $$ ;;
    oursC.chance) [ -n "$1" ] && [ -e "$0.chance" ] || { : >"$0.chance"; verdict=failed; } ;;
  esac
  echo "Test Case '$name' $verdict (0.1 seconds)"
done
"""


def check_itself():
    """The comparison finds what there is to find."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, ".build", "machine", "debug", "faulty")
        program.parent.mkdir(parents=True)
        program.write_text(FAULTY, encoding="utf-8")
        program.chmod(0o755)
        libraries = [Library("our", pathlib.Path(folder)), Library("the toolchain's", None)]

        class Seeing(usage.Watch):
            def look(self):
                super().look()
                if self.usage.memory > 45:
                    pathlib.Path(f"{program}.{self.process.pid}.seen").touch()

        with unittest.mock.patch.object(usage, "Watch", Seeing):
            found = contest(program, libraries, 3)
            swapped = contest(program, libraries[::-1], 3)
            spared = contest(program, libraries, 3, endless=["C"])
            endured = endure(program, libraries, r"\.(bad|after)$", 2)
    names = [[line.split(" ")[0] for line in found[kind]] for kind in ("ours", "unsteady", "both", "theirs")]
    if names != [["C.bad", "C.worse"], ["C.chance"], [], []] or swapped["ours"] or len(swapped["theirs"]) != 2:
        sys.exit(f"the comparison does not find what there is: {found}, {swapped}")
    greedy = [line for line in found["over"] if "MiB" in line]
    if not greedy or found["runs"] != 1 + AGAIN or swapped["over"]:
        sys.exit(f"the comparison does not find what is used: {found}, {swapped}")
    if spared["tests"] or spared["ours"]:
        sys.exit(f"a class that is left out has run: {spared}")
    if endured != {"C.bad": [2, 0], "C.after": [0, 0]}:
        sys.exit(f"what is repeated does not fail as it should: {endured}")
    print("=> finds a failure, a crash, a failure by chance, and a program that uses too much")
