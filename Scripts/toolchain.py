# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Where the Swift toolchain lies."""

import json
import pathlib
import subprocess


def toolchain():
    """The folder with the toolchain's headers, and below linux its libraries. The compiler says which: swiftc may be a link to swiftly."""
    said = subprocess.check_output(["swiftc", "-print-target-info"])
    return pathlib.Path(json.loads(said)["paths"]["runtimeResourcePath"])
