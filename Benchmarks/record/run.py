# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""What a record costs, beside an event of LTTng-UST with the same contents, in turn on one machine.

usage: Scripts/benchmark record [ROUNDS]
       Scripts/benchmark record --programs [ROUNDS]     what whole programs cost with the recorder on

Needs Debian's lttng-tools and liblttng-ust-dev. Both write into memory that they use again, as a flight recorder does. Fails where a
record costs as much as half an event, or more than 5 ns and half a reading of the processor's counter, which both read.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import programs

HERE = pathlib.Path(__file__).parent
EVENTS = "1000000"
# LTTng may wait for its own daemon for ever.
SECONDS = 300


def output(*command, **environment):
    environment = dict(os.environ, **environment)
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS, env=environment).stdout


def main():
    if sys.argv[1:2] == ["--programs"] and all(word.isdigit() for word in sys.argv[2:]):
        return programs.main(*map(int, sys.argv[2:3] or [9]))
    if sys.argv[1:] and not sys.argv[1].isdigit():
        sys.exit(__doc__)
    rounds = int(sys.argv[1]) if sys.argv[1:] else 5
    build = ["swift", "build", "--package-path", "Tool", "-c", "release", "--product", "traced"]
    subprocess.run(build, check=True, stdout=sys.stderr)
    ours = pathlib.Path(output(*build, "--show-bin-path").strip()) / "traced"
    with tempfile.TemporaryDirectory() as folder:
        theirs = pathlib.Path(folder) / "theirs"
        subprocess.run(["cc", "-O2", "-I", HERE, HERE / "theirs.c", "-o", theirs, "-llttng-ust", "-ldl"], check=True)
        os.environ["LTTNG_HOME"] = folder
        daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while subprocess.run(["lttng", "list"], capture_output=True, check=False).returncode != 0:
                if daemon.poll() is not None:
                    sys.exit("lttng-sessiond has ended")
            for line in ("create record --snapshot", "enable-channel -u channel --overwrite --subbuf-size 1M --num-subbuf 4",
                         "enable-event -u gc_record:item -c channel", "start"):
                output("lttng", *line.split())
            figures = [(float(output(ours, "cost", EVENTS, GRANDCENTRAL_RECORD="ring")),
                        *map(float, output(theirs, EVENTS).split())) for _ in range(rounds)]
            output("lttng", "destroy", "record")
        finally:
            daemon.terminate()
            daemon.wait()
    record, event, reading = (statistics.median(column) for column in zip(*figures))
    print(f"a record {record:.1f} ns, an event of LTTng-UST {event:.1f} ns, reading the counter {reading:.1f} ns")
    return record >= event / 2 or record > 5 + 1.5 * reading


sys.exit(main())
