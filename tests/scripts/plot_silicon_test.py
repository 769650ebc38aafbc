#!/usr/bin/env python3
"""plot_silicon_test.py PLOT_SILICON: its comparison of workloads, on files made up here."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = sys.argv.pop(1)


def point(name, kernels, **more):
    return {"workload": name, "size": "small", "kernels": [{"kernel": k, "launches": n, "cycles": c} for k, n, c in kernels], **more}


class Workloads(unittest.TestCase):
    def compare(self, measured, simulated):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "model"))
            paths = [os.path.join(folder, "workloads.json"), os.path.join(folder, "model", "workloads.json")]
            for path, points, model in ((paths[0], measured, None), (paths[1], simulated, "model")):
                with open(path, "w", encoding="utf-8") as file:
                    json.dump({"simulated": model, "gpu": "a GPU", "sms": 4, "date": "2000-01-01", "before": None, "after": None, "points": points}, file)
            return subprocess.run([SCRIPT, "--print", *paths], capture_output=True, text=True, check=False)

    def test_takes_off_what_each_launch_costs_and_compares_sums(self):
        # 2 x (median of 1000) less 4 launches of 100 each; then 1500 less 100.
        measured = [point("a", [("k", 4, [900, 1000, 5000]), ("l", 4, [1000, 1000, 1000])], one_block_cycles=100, mhz=1000),
                    point("b", [("k", 1, [1500])], one_block_cycles=100, mhz=1000),
                    point("c", [("k", 1, [400])], one_block_cycles=100, mhz=1000)]
        simulated = [point("a", [("k", 4, [600]), ("l", 4, [900])]), point("b", [("k", 1, [1400])]), point("c", [("k", 1, [450])])]
        found = self.compare(measured, simulated)
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertIn("| a | 8 | 1200 | 1500 | +25.0 % |  |", found.stdout)
        self.assertIn("| b | 1 | 1400 | 1400 | +0.0 % |  |", found.stdout)
        self.assertIn("| c | 1 | 300 | 450 | +50.0 % | ** |", found.stdout)
        # Errors of 25, 0 and 50 %; a and b have changed places: 1 - 6 (1 + 1) / (3 (9 - 1)).
        self.assertIn("| workloads | 3 | 0.500 | 25.0 % | 25.0 % | 1 | +50 % (c) |", found.stdout)
        # Errors of 0, 50, 0 and 50 %; both of a take 600 on the GPU, so that they share a rank: 4.5 / sqrt(4.5 x 5).
        self.assertIn("| kernels | 4 | 0.949 | 25.0 % |", found.stdout)

    def test_leaves_out_what_did_not_end(self):
        measured = [point(name, [("k", 1, [1000])], one_block_cycles=0, mhz=1000) for name in ("a", "b")]
        simulated = [point("a", [("k", 1, [1000])]), point("b", [("k", 1, [7])], unfinished=True)]
        found = self.compare(measured, simulated)
        self.assertIn("Not simulated: b.", found.stdout)
        self.assertNotIn("| b | 1 |", found.stdout)

    def test_refuses_other_numbers_of_launches(self):
        measured = [point("a", [("k", 2, [1000])], one_block_cycles=0, mhz=1000)]
        found = self.compare(measured, [point("a", [("k", 3, [1000])])])
        self.assertNotEqual(found.returncode, 0)
        self.assertIn("k was launched 2 times on the GPU, 3 times in Terrace", found.stderr)


if __name__ == "__main__":
    unittest.main()
