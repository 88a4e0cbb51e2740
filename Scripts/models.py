#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Checks the models with spin, as their first comment lines ask.

  // check: safety [-DNAME[=VALUE]]... [depth=N] [vector=BYTES]   assertions and invalid end states
  // check: ltl NAME [same options]                               a property, under weak fairness
  // expect: fail                                                 the check above must find an error

A search that ends early (depth, memory) proves nothing and fails. So does a model without a check, and one without
a planted bug: a model that cannot fail says nothing either.

A search is the same each time. Verification/searched.txt has a line for each one that has come to its end and found nothing: the
digest of the model, of what it includes, of the check, and of this program. Such a search is not repeated, unless --all asks for it.
Planted bugs are looked for each time.
"""

import argparse
import concurrent.futures
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import time

AT_ONCE = 2
MEMORY_MB = 6000
SECONDS = 400
SEARCHED = pathlib.Path("Verification/searched.txt")
# What counts as the planted bug; any other trouble is trouble.
VIOLATION = re.compile(r"assertion violated|invalid end state|acceptance cycle|end state in claim")


class Check:
    """One `check:` line."""

    def __init__(self, words):
        self.kind = words[0] if words else ""
        self.name = words[1] if self.kind == "ltl" and len(words) > 1 else None
        rest = words[2:] if self.kind == "ltl" else words[1:]
        self.macros = [word for word in rest if word.startswith("-D")]
        options = dict(word.split("=", 1) for word in rest if re.match(r"(depth|vector)=\d+$", word))
        self.depth, self.vector = int(options.get("depth", 1_000_000)), int(options.get("vector", 2048))
        self.expects_error = False
        known = len(self.macros) + len(options) == len(rest)
        self.valid = known and (self.kind == "safety" or self.name is not None)

    def __str__(self):
        return " ".join([self.kind, *([self.name] if self.name else []), *self.macros])


def checks_of(model):
    """The checks that a model asks for."""
    checks = []
    for line in model.read_text(encoding="utf-8").splitlines():
        found = re.match(r"\s*(?://|\*|/\*)\s*(check|expect):\s*(.*?)\s*(?:\*/)?$", line)
        if found and found.group(1) == "check":
            checks.append(Check(found.group(2).split()))
            if not checks[-1].valid:
                raise ValueError(f"{model}: what is `check: {found.group(2)}`?")
        elif found:
            if not checks or found.group(2) != "fail":
                raise ValueError(f"{model}: what is `expect: {found.group(2)}`?")
            checks[-1].expects_error = True
    return checks


def text_of(model):
    """A model's text, with that of what it includes."""
    text = model.read_text(encoding="utf-8")
    return text + "".join(text_of(model.parent / name) for name in re.findall(r'^\s*#include "(.*)"', text, re.MULTILINE))


def line_of(model, check):
    """What SEARCHED says of a check."""
    searcher = pathlib.Path(__file__).read_text(encoding="utf-8")
    searched = f"{check} {check.depth} {check.vector} {text_of(model)} {searcher}"
    return f"{model.name}: {check}: {hashlib.sha256(searched.encode()).hexdigest()}"


def run(command, folder, seconds=SECONDS):
    result = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, check=False
    )
    return result.returncode, result.stdout


def search(model, check, folder):
    """Runs one check; returns (problem or None, what was searched)."""
    code, output = run(["spin", *check.macros, "-a", str(model.resolve())], folder)
    if code or re.search(r"(?i)\berror\b", output):
        return f"spin: {output}", ""
    mode = ["-DSAFETY", "-DNOCLAIM"] if check.kind == "safety" else ["-DNFAIR=3"]
    limits = [f"-DMEMLIM={MEMORY_MB}", f"-DVECTORSZ={check.vector}", "-DCOLLAPSE"]
    # A planted bug is found soon: there an optimising compiler takes longer than the search.
    code, output = run(["gcc", "-O0" if check.expects_error else "-O2", "-w", *mode, *limits, "-o", "pan", "pan.c"], folder)
    if code:
        return f"gcc: {output}", ""
    how = [] if check.kind == "safety" else ["-a", "-f", "-N", check.name]
    _, output = run(["./pan", f"-m{check.depth}", *how], folder)
    return judge(check, output, folder, model), states_of(output)


def states_of(output):
    found = re.search(r"(\d+) states, stored", output)
    depth = re.search(r"depth reached (\d+)", output)
    return f"{found.group(1)} states, depth {depth.group(1)}" if found and depth else ""


def judge(check, output, folder, model):
    """What is wrong with the outcome of a search, if anything."""
    errors = re.search(r"errors: (\d+)", output)
    if not errors:
        return output
    if int(errors.group(1)):
        if check.expects_error and VIOLATION.search(output):
            return None
        _, trail = run(["spin", *check.macros, "-t", "-p", "-g", str(model.resolve())], folder)
        return output + "\nthe way there, its end:\n" + "\n".join(trail.splitlines()[-80:])
    for sign in ("max search depth too small", "Search not completed", "out of memory", "reached -DMEMLIM"):
        if sign in output:
            return f"the search is not complete: {sign}\n{output}"
    return "the planted bug was not found" if check.expects_error else None


def carry_out(model, check):
    """Runs one check; returns (problem or None, a line about it)."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            problem, searched = search(model, check, folder)
        except subprocess.TimeoutExpired:
            problem, searched = f"not done after {SECONDS} s", ""
    outcome = "FAILED" if problem else "finds its planted bug" if check.expects_error else "holds"
    line = f"{model.name}: {check}: {outcome}; {searched or 'no search'}, {time.monotonic() - begin:.1f} s"
    return problem, line


def check_model(model, checks, outcomes):
    """Tells how the checks of one model went; returns how many failed."""
    failures = 0
    for check, outcome in zip(checks, outcomes):
        if outcome is None:
            continue
        problem, line = outcome.result()
        print(line, flush=True)
        if problem:
            print(f"=> FAILED: {model.name}: {check}", problem, sep="\n")
            failures += 1
    planted = sum(check.expects_error for check in checks)
    done = sum(outcome is not None for outcome in outcomes) - planted
    known = len(checks) - planted - done
    print(f"=> {model.name}: {done} searches, {known} known, and {planted} planted bugs, {failures} failed")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="*", type=pathlib.Path, help="Verification/*.pml unless told")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--all", action="store_true", help="make every search, also those with a line")
    how.add_argument("--record", action="store_true", help="the same for all models, and write the lines anew")
    options = parser.parse_args()
    if options.record and options.model:
        parser.error("--record is for all models")
    models = options.model or sorted(pathlib.Path("Verification").glob("*.pml"))
    if not models:
        sys.exit("no model in Verification")
    checks = {model: checks_of(model) for model in models}
    for model, own in checks.items():
        if len({check.expects_error for check in own}) < 2:
            sys.exit(f"{model}: needs a check that passes and a planted bug, `expect: fail`, that is found")
    known = set() if options.all or options.record else set(SEARCHED.read_text(encoding="utf-8").splitlines())
    # A search has one thread.
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = {
            model: [
                None if not check.expects_error and line_of(model, check) in known else pool.submit(carry_out, model, check)
                for check in own
            ]
            for model, own in checks.items()
        }
        failures = sum(check_model(model, checks[model], outcomes[model]) for model in models)
    if failures == 0 and options.record:
        lines = [line_of(model, check) for model, own in checks.items() for check in own if not check.expects_error]
        SEARCHED.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
