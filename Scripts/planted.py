# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""`mutants --planted`: each patch of Verification/Checker/Planted in a copy of the sources, built and searched.

A patch begins with `bug:` and one or more `scenario:` lines, each a part of a scenario's name, or a source file's. What they
name is searched without the patch first: a scenario that fails as it stands shows nothing."""

import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATCHES = ROOT / "Verification/Checker/Planted"
SCRATCH = ROOT / ".build-planted"
SECONDS = os.environ.get("GC_PLANTED_SECONDS", "20")


def copy_sources(tree):
    """What has not changed keeps its time, so that a build is of what has."""
    for folder in ("Sources", "Verification/Checker"):
        for path in sorted((ROOT / folder).rglob("*")):
            if ".build" in path.parts or path.is_dir() and not path.is_symlink():
                continue
            target = tree / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.is_symlink():
                if not target.is_symlink():
                    target.symlink_to(os.readlink(path))
            elif not target.exists() or target.read_bytes() != path.read_bytes():
                shutil.copyfile(path, target)


def scenarios(patch):
    return [line.split(": ", 1)[1] for line in patch.read_text().splitlines() if line.startswith("scenario: ")]


def build(tree):
    """None, or the compiler's complaint. Not optimised: so a build is of the file that has changed."""
    command = ["swift", "build", "-j", "2", "--product", "checker", "--scratch-path", SCRATCH / "build"]
    built = subprocess.run([*command, "--package-path", tree / "Verification/Checker"], capture_output=True, text=True, check=False)
    if built.returncode == 0:
        return None
    return "does not build: " + "; ".join(line for line in built.stdout.splitlines() if "error:" in line)[:200]


def search(name):
    """What the checker as it is built finds in the scenarios of that name, or None."""
    checker = SCRATCH / "build/debug/checker"
    try:
        done = subprocess.run([checker, name, "--seconds", SECONDS], capture_output=True, text=True, timeout=900, check=False,
                              errors="replace")
    except subprocess.TimeoutExpired:
        return f"{name}: no end"
    lines = done.stdout.splitlines()
    for number, line in enumerate(lines):
        if line.startswith("FOUND"):
            return f"{line[7:].split(' – ')[0]}: {lines[number + 1][:80] if number + 1 < len(lines) else ''}"
    if done.returncode < 0:
        return f"{name}: the checker died of signal {-done.returncode}"
    # No scenario of that name: the checker says how it is called.
    return None if done.returncode in (0, 1) else f"{name}: {lines[0] if lines else 'nothing was run'}"


def broken_scenarios(names, tree):
    """What the scenarios find in the sources as they are."""
    copy_sources(tree)
    complaint = build(tree)
    return [complaint] if complaint else [each for each in map(search, names) if each]


def judge(patch, tree):
    copy_sources(tree)
    applied = subprocess.run(["patch", "-s", "-p1", "-d", tree, "-i", patch], capture_output=True, text=True, check=False)
    if applied.returncode != 0:
        return "does not apply: " + applied.stdout
    complaint = build(tree)
    if complaint:
        return complaint
    found = next(filter(None, map(search, scenarios(patch))), None)
    return f"found by {found}" if found else "NOT FOUND"


def check(names):
    tree = SCRATCH / "tree"
    patches = [each for each in sorted(PATCHES.glob("*.patch")) if not names or each.stem in names]
    broken = broken_scenarios(sorted({name for patch in patches for name in scenarios(patch)}), tree)
    for each in broken:
        print(f"without a patch: {each}")
    if broken:
        return 1
    found = 0
    for patch in patches:
        verdict = judge(patch, tree)
        found += verdict.startswith("found")
        print(f"{patch.stem:32} {verdict}", flush=True)
    print(f"found {found} of {len(patches)}")
    return 0 if found == len(patches) else 1
