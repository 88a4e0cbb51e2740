# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Other people's packages, and how their tests are built."""

import dataclasses
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / ".build-check" / "packages"


@dataclasses.dataclass
class Package:
    repository: str
    version: str
    # Files that do not compile with this toolchain, and why.
    without: dict = dataclasses.field(default_factory=dict)
    # Links that the repository has, for a checkout that has lost them: from, to.
    links: dict = dataclasses.field(default_factory=dict)
    # Classes of tests, as XCTest prints them, that wait for ever now and then on any library, and why: they do not run on two of them.
    endless: dict = dataclasses.field(default_factory=dict)

    @property
    def name(self):
        return self.repository.split("/")[1]


PACKAGES = [
    Package(
        "apple/swift-async-algorithms", "1.1.4",
        links={
            "Sources/AsyncSequenceValidation/Locking.swift": "../AsyncAlgorithms/Locking.swift",
            "Tests/AsyncAlgorithmsTests/Support/Locking.swift": "../../../Sources/AsyncAlgorithms/Locking.swift",
        },
        endless={
            "TestFlatMapLatest":
                "the storage keeps the inner task after it has started it, and without its lock: if that task has ended by then, "
                "the end of the source waits for it for ever (1 of 149 runs on the toolchain's library, 5 of 150 on ours)",
        }),
    Package(
        "OpenCombine/OpenCombine", "0.14.0",
        without={
            "Tests/OpenCombineTests/FoundationTests/NotificationCenterTests.swift":
                "overrides what this Foundation does not let override",
        }),
    Package("apple/swift-nio", "2.101.2"),
    Package("groue/GRDB.swift", "7.10.0"),
    Package("swift-server/swift-service-lifecycle", "2.13.0"),
    Package("swhitty/FlyingFox", "0.27.1"),
    Package("swiftlang/swift-subprocess", "1.0.2"),
    Package("swift-server/async-http-client", "1.37.0"),
]


def clone(package, folder):
    """Whole or not at all; a network may fail for a moment."""
    part = folder.with_name(folder.name + ".part")
    for attempt in range(3):
        shutil.rmtree(part, ignore_errors=True)
        command = ["git", "-c", "advice.detachedHead=false", "clone", "--quiet", "--branch", package.version,
                   f"https://github.com/{package.repository}", str(part)]
        if subprocess.run(command, check=attempt == 2).returncode == 0:
            part.rename(folder)
            return
        time.sleep(1 + attempt)


def check_out(package):
    """The package's sources, ready to be built."""
    folder = OUT / package.name
    if not (folder / "Package.swift").exists():
        clone(package, folder)
    for path in package.without:
        (folder / path).unlink(missing_ok=True)
    for path, target in package.links.items():
        place = folder / path
        # A package that has the links has them in the same folder, by names of their own.
        if not any(file.is_symlink() for file in place.parent.iterdir()):
            place.symlink_to(target)
    return folder


def build(folder, jobs):
    """Builds the tests. Returns the program."""
    log = OUT / f"{folder.name}.build.log"
    command = ["swift", "build", "--build-tests", "--package-path", str(folder), "-j", str(jobs)]
    with open(log, "w", encoding="utf-8") as output:
        status = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT).returncode
    if status:
        errors = [line for line in log.read_text(errors="replace").splitlines() if "error:" in line]
        sys.exit(f"{folder.name} does not build:\n" + "\n".join(errors[:10]))
    where = subprocess.run([*command, "--show-bin-path"], check=True, capture_output=True, text=True).stdout.strip()
    return next(pathlib.Path(where).glob("*.xctest"))
