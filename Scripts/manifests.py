#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Evaluates the manifests of packages that pages show, as SwiftPM does.

    manifests.py VERSION PAGE...

A block of Swift that begins with the version of the tools is a whole manifest. What stands alone, in a block or in a line of text, `.package(…)`
and `.product(…)`, gets a manifest around it. Each must be valid; the packages and products that it names must be ours, and VERSION, that of
the library, must be among the versions that it asks for.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Our packages, by the names that the pages give them.
PACKAGES = {"swift-grand-central": "Package.swift", "grand-central-integrations": "Integrations/Package.swift"}
AROUND = """// swift-tools-version: 6.2
import PackageDescription
let package = Package(name: "page", dependencies: [
%s
], targets: [.target(name: "page", dependencies: [
%s
])])
"""


def manifests(page):
    """Yields (line number, text) of each manifest that the page shows a whole or a part of."""
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(r"^```swift\n(.*?)^```$|`(\.package\([^`\n]*\))`", text, re.MULTILINE | re.DOTALL):
        part, line = found[1] or found[2], text.count("\n", 0, found.start()) + 1
        if part.startswith("// swift-tools-version"):
            yield line, part
            continue
        lines = [re.sub(r",?(\s*//.*)?$", ",", one, count=1) for one in part.splitlines()]
        packages, products = ([one for one in lines if one.startswith(word)] for word in (".package(", ".product("))
        # The snippets leave out what has this word.
        if ".package" in part:
            yield line, AROUND % ("\n".join(packages), "\n".join(products))


def number(version):
    return [int(part) for part in version.split(".")]


def faults(text, version):
    """What is wrong with a manifest."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "Package.swift").write_text(text.replace("ADDRESS/", "https://example.org/somebody/"), encoding="utf-8")
        command = ["swift", "package", "--package-path", folder, "--manifest-cache", "none", "dump-package"]
        # SwiftPM leaves what it makes for that behind.
        around = {**os.environ, "TMPDIR": folder}
        said = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=around)
    if said.returncode != 0:
        told = [line for line in said.stderr.splitlines() if re.search(r"^error: '\w+': (?!Invalid manifest)|\.swift:\d+:\d+: error: ", line)]
        return told or [said.stderr]
    package, found, names = json.loads(said.stdout), [], set()
    for kind, dependency in [(kind, one) for each in package["dependencies"] for kind, (one, *_) in each.items()]:
        names.add(dependency.get("nameForTargetDependencyResolutionOnly") or dependency["identity"])
        for wanted in dependency["requirement"].get("range", []) if kind == "sourceControl" else []:
            if not number(wanted["lowerBound"]) <= number(version) < number(wanted["upperBound"]):
                found.append(f"it asks for {wanted['lowerBound']} up to {wanted['upperBound']}, and this is {version}")
    found += [f"no package of ours is called {name}" for name in sorted(names - PACKAGES.keys())]
    for target in package["targets"]:
        for name, of, *_ in (one["product"] for one in target["dependencies"] if "product" in one):
            if of in PACKAGES and f'.library(name: "{name}"' not in pathlib.Path(PACKAGES[of]).read_text(encoding="utf-8"):
                found.append(f"{PACKAGES[of]} has no product {name}")
    return found if names else ["it names no package"]


def main():
    version, *pages = sys.argv[1:]
    shown = [(page, line, text) for page in map(pathlib.Path, pages) for line, text in manifests(page)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        found = list(threads.map(lambda one: faults(one[2], version), shown))
    wrong = [f"{page}:{line}: {fault}" for (page, line, _), those in zip(shown, found) for fault in those]
    if wrong or not shown:
        sys.exit("\n".join(wrong) or "error: no page has a manifest")
    print(f"=> {len(shown)} manifests of pages, or parts of them, are valid")


if __name__ == "__main__":
    main()
