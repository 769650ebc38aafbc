#!/usr/bin/env python3
"""scripts/fit_silicon against a program that stands for `silicon`: two kernels whose throughput is a known function of two keys.

  fit_silicon_test.py FIT_SILICON
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = sys.argv.pop(1)

# Kernel a does wide * 10 units, b does deep * wide; on a quarter of the SMs a half of that. It counts its runs.
STAND_IN = '''#!/usr/bin/env python3
import json, os, sys
words = sys.argv[1:]
assert words[0] == "predict", words
to, machine, kernel = words[2], words[3], words[-1]
options = {words[i]: words[i + 1] for i in range(5, len(words) - 1, 2) if words[i] != "--set"}
sets = dict(words[i + 1].split("=") for i in range(5, len(words) - 1) if words[i] == "--set")
with open(os.path.join(os.path.dirname(__file__), "runs"), "a") as runs:
    runs.write(" ".join(words) + "\\n")
wide, deep = int(sets["wide"]), int(sets["deep"])
units = wide * 10 if kernel == "a" else deep * wide
if options["--split"] == "quarter":
    units /= 2
point = {"mode": "simulated", "split": options["--split"], "side": int(options["--side"]) - 1, "tenant": kernel, "sms": 1,
         "units_per_million_cycles": [units]}
with open(os.path.join(to, "alone.json"), "w") as out:
    json.dump({"problems": [], "points": [point]}, out)
'''
FIT = '''
machine = "toy"
measured = "alone.json"
lead = 10
window = 20
points = ["a half", "b half"]
[[keys]]
key = "wide"
values = [1, 2, 4, 8, 16]
points = ["a half"]
[[keys]]
key = "deep"
values = [1, 2, 3, 4, 5, 6, 7, 8, 9]
'''


def measured(units):
    return {"points": [{"mode": mode, "split": split, "side": side, "tenant": kernel, "sms": 1, "mhz": 2000,
                        "units_per_ms": [value * 2 if mode == "streams" else 1] * 5}
                       for mode in ("streams", "mps") for (kernel, split, side), value in units.items()]}


class Fit(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = lambda name: os.path.join(self.folder.name, name)
        with open(self.path("silicon"), "w") as text:
            text.write(STAND_IN)
        os.chmod(self.path("silicon"), 0o755)
        with open(self.path("alone.json"), "w") as text:
            json.dump(measured({("a", "half", 0): 160, ("b", "half", 0): 32, ("b", "half", 1): 32, ("a", "quarter", 0): 100, ("b", "quarter", 1): 16}), text)
        # Whoever reads pairs fails.
        with open(self.path("pairs.json"), "w") as text:
            text.write("not JSON")
        self.fit(FIT)

    def tearDown(self):
        self.folder.cleanup()

    def fit(self, text):
        with open(self.path("fit.toml"), "w") as file:
            file.write(text)

    def run_fit(self, *more):
        return subprocess.run([SCRIPT, self.path("fit.toml"), self.path("out"), "--silicon", self.path("silicon"), "--modules", "modules", *more],
                              capture_output=True, text=True)

    def read(self, name):
        with open(self.path(name)) as text:
            return text.read()

    def test_it_finds_the_values_that_make_the_points_come_out_right(self):
        done = self.run_fit()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.read("out/set.txt"), "wide=16\ndeep=2\n")
        self.assertIn("fitted on: 2 points, mean error 0.0 %", done.stdout)
        self.assertEqual(self.read("out/fitted.txt"), "a half 0\nb half 0\n")

    def test_points_that_are_not_fitted_on_are_told_apart(self):
        done = self.run_fit("--check")
        self.assertIn("not fitted on: 2 points, mean error 10.0 %, largest -20.0 % (a quarter 0)", done.stdout)
        self.assertIn("  b quarter 1: +0.0 %", done.stdout)

    def test_no_run_is_made_twice(self):
        self.run_fit()
        runs = self.read("runs")
        self.assertEqual(len(runs.splitlines()), len(set(runs.splitlines())))
        self.run_fit()
        self.assertEqual(self.read("runs"), runs)

    def test_a_key_may_be_chosen_only_by_points_of_the_list(self):
        self.fit(FIT.replace('points = ["a half"]', 'points = ["a quarter"]'))
        done = self.run_fit()
        self.assertEqual(done.returncode, 1)
        self.assertIn("wide is chosen by points that are not in the list", done.stderr)

    def test_a_point_that_was_not_measured_is_named(self):
        self.fit(FIT.replace('points = ["a half", "b half"]', 'points = ["a half", "b half", "c half"]'))
        self.assertIn("alone.json has no c half 0 on streams", self.run_fit().stderr)


if __name__ == "__main__":
    unittest.main()
