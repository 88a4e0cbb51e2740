# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""What each operation was counted to cost, and how far above that it may be."""

import json


class Thresholds:
    """Benchmarks/Thresholds/scaling.json."""

    def __init__(self, path):
        self.path = path
        self.content = json.loads(path.read_text(encoding="utf-8"))
        self.slack, self.operations = self.content["slack"], self.content["operations"]
        self.keys = tuple(self.slack)

    def check_names(self, figures):
        """An operation without a threshold is not gated, a threshold without an operation gates nothing."""
        odd = set(figures) ^ set(self.operations)
        if odd and self.operations:
            raise ValueError(f"{self.path.name} and the probe differ in {', '.join(sorted(odd))}")

    def at_most(self, name, key):
        slack = self.slack[key]
        return self.operations[name][key] * (1 + slack["relative"]) + slack["absolute"]

    def exceeded(self, figures):
        """One line for each figure that is too high."""
        over = []
        for name, counts in figures.items():
            for key in self.keys:
                most = self.at_most(name, key)
                if counts[key] > most:
                    over.append(f"{name}: {key} {counts[key]:.3f}, at most {most:.3f}")
        return over

    def record(self, figures):
        for name, counts in figures.items():
            self.operations[name] = {key: round(counts[key], 3) for key in self.keys}
        lines = [f"    {json.dumps(name)}: {json.dumps(entry)}" for name, entry in self.operations.items()]
        head = json.dumps({key: value for key, value in self.content.items() if key != "operations"}, indent=2)
        text = head[: head.rindex("\n")] + ',\n  "operations": {\n' + ",\n".join(lines) + "\n  }\n}\n"
        self.path.write_text(text, encoding="utf-8")
