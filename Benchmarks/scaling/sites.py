# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Where in the sources an access of the probe is: the functions that were inlined there, innermost first."""

import collections
import json
import pathlib
import re
import subprocess

Frame = collections.namedtuple("Frame", "function file line")
# They say how a word is changed, not which: the caller's line does.
GENERAL = {"AtomicState.swift", "Magazine.swift", "<compiler-generated>", "<unknown>"}
# What takes a job that lies at another place: the function that takes, and from where it is called.
THEFTS = (("moveHead", "Engine.takeFromOthers"), ("takeSlot", "Engine.lookAtSlots"), ("takeSlot", "Engine.stealUrgentSlot"))


class Sites:
    """Reads the debug information once for all addresses it is asked for."""

    def __init__(self, binary):
        self.binary, self.known = binary, {}

    def look_up(self, addresses):
        """Learns the frames of the addresses."""
        missing = sorted(set(addresses) - set(self.known))
        if not missing:
            return
        command = ["llvm-symbolizer", f"--obj={self.binary}", "--inlines", "--output-style=JSON"]
        text = subprocess.run(
            command, input="\n".join(map(hex, missing)), capture_output=True, text=True, check=True).stdout
        raw = []
        for found in text.splitlines():
            raw += json.loads(found) if found.startswith("[") else [json.loads(found)]
        names = demangled({frame["FunctionName"] for entry in raw for frame in entry.get("Symbol", [])})
        for address, entry in zip(missing, raw, strict=True):
            frames = entry.get("Symbol", [])
            self.known[address] = tuple(
                Frame(names[f["FunctionName"]], pathlib.PurePath(f["FileName"]).name, f["Line"]) for f in frames)

    def is_theft(self, address):
        functions = [frame.function for frame in self.known[address]]
        last = {name.split(".")[-1] for name in functions}
        return any(taker in last and any(name.startswith(caller) for name in functions) for taker, caller in THEFTS)

    def label(self, address):
        """One line for people: the place, and the functions that lead there."""
        frames = self.known[address]
        telling = [frame for frame in frames if frame.file not in GENERAL and frame.line] or frames
        if not telling:
            return "unknown"
        inner = telling[0]
        ways = [inner.function]
        for frame in telling[1:]:
            if frame.function != ways[-1] and len(ways) < 3:
                ways.append(frame.function)
        place = f"{inner.file}:{inner.line} " if inner.line else ""
        return place + " < ".join(ways)


def demangled(names):
    """Swift's names without modules, arguments and generics: `Worker.takeSlot`."""
    names = sorted(names)
    command = ["swift-demangle", "--simplified", "--compact"]
    text = subprocess.run(command, input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return {name: short(full) for name, full in zip(names, text.splitlines(), strict=True)}


def short(name):
    """`closure #1 in Worker.take(from:in:)` becomes `Worker.take`."""
    name = re.sub(r"^.* (?:in|of) (?=\S)", "", name)
    name = re.sub(r"^(?:(?:specialized|static|generic|merged|outlined|partial|apply|thunk|for) )+", "", name)
    name = re.sub(r"\([\w$]+ in _[0-9A-F]+\)", lambda found: found.group()[1:].split(" ")[0], name)
    while True:
        less = re.sub(r"<[^<>]*>|\([^()]*\)", "", name)
        if less == name:
            break
        name = less
    return re.sub(r"\.(getter|modify|read|setter).*$", "", name).split(" ")[0]
