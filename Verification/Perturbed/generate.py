#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Writes the operations of the perturbed build's atomics, a file a width, into Sources/GrandCentral.

The module Synchronization declares its operations for each width by itself, so there is no writing them once.
"""

import pathlib

HEAD = """\
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
// Written by Verification/Perturbed/generate.py.

import CPerturbation
import Synchronization
"""

MARK = '  @_semantics("atomics.requires_constant_orderings") @_transparent @usableFromInline'
PAIR = "(exchanged: Bool, original: Value)"

CALLS = [
    ("load", [("ordering", "ordering", "AtomicLoadOrdering")], "Value"),
    ("store", [("_", "value", "consuming Value"), ("ordering", "ordering", "AtomicStoreOrdering")], ""),
    ("exchange", [("_", "value", "consuming Value"), ("ordering", "ordering", "AtomicUpdateOrdering")], "Value"),
]
for name in ("compareExchange", "weakCompareExchange"):
    values = [("expected", "expected", "consuming Value"), ("desired", "desired", "consuming Value")]
    CALLS.append((name, values + [("ordering", "ordering", "AtomicUpdateOrdering")], PAIR))
    CALLS.append((name, values + [("successOrdering", "successOrdering", "AtomicUpdateOrdering"),
                                  ("failureOrdering", "failureOrdering", "AtomicLoadOrdering")], PAIR))

ARITHMETIC = [("wrappingAdd", "seen &+ operand"), ("wrappingSubtract", "seen &- operand"), ("bitwiseOr", "seen | operand"),
              ("bitwiseAnd", "seen & operand"), ("max", "Swift.max(seen, operand)")]


def operation(name, parameters, result):
    declared = ",\n    ".join(f"{label} {inner}: {kind}" if label == "_" else f"{label}: {kind}"
                         for label, inner, kind in parameters)
    passed = ", ".join(inner if label == "_" else f"{label}: {inner}" for label, inner, _ in parameters)
    return f"""
{MARK}
  borrowing func {name}(
    {declared}
  ){result and " -> " + result} {{
    gc_perturb()
    defer {{ gc_perturb() }}
    {result and "return "}base.{name}(
      {passed})
  }}"""


def arithmetic(name, new):
    return f"""
{MARK} @discardableResult
  borrowing func {name}(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {{
    // relaxed: the first look is verified by the exchange.
    var seen = base.load(ordering: .relaxed)
    while true {{
      let result = compareExchange(expected: seen, desired: {new}, ordering: ordering)
      if result.exchanged {{ return (seen, {new}) }}
      seen = result.original
    }}
  }}"""


folder = pathlib.Path(__file__).parent / "Sources/GrandCentral"
for width in (8, 16, 32, 64):
    where = f"extension Atomic where Value.AtomicRepresentation == _Atomic{width}BitStorage"
    text = HEAD + "\n" + where + " {" + "\n".join(operation(*call) for call in CALLS) + "\n}\n\n"
    text += "// A loop of exchanges: one step all the same, and a gap before it in which others come first.\n"
    text += where + ", Value: FixedWidthInteger {" + "\n".join(arithmetic(*call) for call in ARITHMETIC) + "\n}\n"
    (folder / f"Perturbed{width}.swift").write_text(text)
