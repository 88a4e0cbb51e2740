# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""The gate lets through what is within the slack, and nothing else; steals are found by the names of functions."""

import json
import pathlib
import tempfile
import unittest

from document import grows
from sites import Frame, Sites, short
from thresholds import Thresholds

CONTENT = {
    "slack": {"lines": {"relative": 0.1, "absolute": 0.05}, "wakes": {"relative": 0, "absolute": 0.02}},
    "operations": {"async": {"lines": 4.0, "wakes": 0.0}},
}


class Gate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, "scaling.json")
        self.path.write_text(json.dumps(CONTENT), encoding="utf-8")
        self.thresholds = Thresholds(self.path)

    def test_within_the_slack(self):
        self.assertEqual(self.thresholds.exceeded({"async": {"lines": 4.44, "wakes": 0.02}}), [])

    def test_beyond_the_slack(self):
        self.assertEqual(len(self.thresholds.exceeded({"async": {"lines": 4.46, "wakes": 0.0}})), 1)
        self.assertEqual(len(self.thresholds.exceeded({"async": {"lines": 4.0, "wakes": 0.03}})), 1)

    def test_operations_without_a_threshold(self):
        self.thresholds.check_names({"async": {}})
        for names in ({}, {"async": {}, "sync": {}}):
            with self.assertRaises(ValueError):
                self.thresholds.check_names(names)

    def test_recorded_is_read_again(self):
        self.thresholds.record({"async": {"lines": 1.23456, "wakes": 0.5}})
        self.assertEqual(Thresholds(self.path).operations, {"async": {"lines": 1.235, "wakes": 0.5}})


class Places(unittest.TestCase):
    def test_names(self):
        self.assertEqual(short("Worker.take(from:in:)"), "Worker.take")
        self.assertEqual(short("specialized static Depot.fetch(_:)"), "Depot.fetch")
        self.assertEqual(short("closure #1 in Crew.init(_:_:)"), "Crew.init")
        self.assertEqual(short("Job.invoke.getter"), "Job.invoke")

    def test_thefts(self):
        sites = Sites("probe")
        take, own = Frame("FIFOQueue.moveHead", "", 1), Frame("Place.findWork", "", 1)
        slot = Frame("Place.takeSlot", "", 1)
        sites.known = {
            1: (take, Frame("Engine.takeFromOthers", "", 1)),
            2: (take, own),
            3: (slot, Frame("Engine.lookAtSlots", "", 1)),
            4: (slot, Frame("Place.findWork", "", 1)),
        }
        self.assertEqual([sites.is_theft(at) for at in (1, 2, 3, 4)], [True, False, True, False])

    def test_what_grows(self):
        self.assertTrue(grows({2: {"lines": 1.0}, 64: {"lines": 1.6}}))
        self.assertFalse(grows({2: {"lines": 1.0}, 64: {"lines": 1.5}}))
        self.assertFalse(grows({2: {"lines": 0.0}, 64: {"lines": 0.2}}))


if __name__ == "__main__":
    unittest.main()
