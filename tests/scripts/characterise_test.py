#!/usr/bin/env python3
"""scripts/characterise on a store made by hand: sums over units, tenths of a run, classes, and what it says of bad input.
Usage: characterise_test.py SOURCE_FOLDER
"""
import importlib.machinery
import importlib.util
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

ROOT = sys.argv.pop(1)
SCRIPT = os.path.join(ROOT, "scripts", "characterise")
loader = importlib.machinery.SourceFileLoader("characterise", SCRIPT)
sys.dont_write_bytecode = True
characterise = importlib.util.module_from_spec(importlib.util.spec_from_loader("characterise", loader))
loader.exec_module(characterise)

CONFIG = """core_mhz = 700
line_bytes = 128
[sm]
count = 24
schedulers = 2
[l2]
slices = 12
ports = 1
[noc]
flit_bytes = 32
[dram]
standard = "gddr5"
channels = 6
bus_bits = 64
clock_mhz = 924
transfers_per_clock = 0
"""


def make_store(path, stats, series=None, ends=None):
    """One point of the grid dws, mm alone: 1,000 cycles, 2,000,000 thread instructions."""
    data = sqlite3.connect(path)
    data.executescript("""
      CREATE TABLE stat_name (number INTEGER, name TEXT, unit TEXT);
      CREATE TABLE stat (job INTEGER, name INTEGER, value INTEGER);
      CREATE TABLE job (number INTEGER, id TEXT, state TEXT, config TEXT, cycles INTEGER, warp_instructions INTEGER, thread_instructions INTEGER,
                        total_ipc REAL, digest TEXT);
      CREATE TABLE point (sweep TEXT, point INTEGER, grid TEXT, gpu TEXT, design TEXT, mix TEXT, sms TEXT, until TEXT, settings TEXT, job TEXT);
      CREATE TABLE interval (job INTEGER, every INTEGER, ends TEXT);
      CREATE TABLE series (job INTEGER, name INTEGER, growth TEXT);""")
    data.execute("INSERT INTO job VALUES (1, 'a', 'done', ?, 1000, 100000, 2000000, 2000.0, 'd')", (CONFIG,))
    data.execute("INSERT INTO point VALUES ('characterise', 0, 'dws', 'dws_30sm', 'baseline', 'mm:variant=dws', 'even', 'completed', '{}', 'a')")
    for number, (name, value) in enumerate({**stats, **dict.fromkeys(series or {}, 0)}.items()):
        data.execute("INSERT INTO stat_name VALUES (?, ?, '')", (number, name))
        if name in stats:
            data.execute("INSERT INTO stat VALUES (1, ?, ?)", (number, value))
        if series and name in series:
            data.execute("INSERT INTO series VALUES (1, ?, ?)", (number, json.dumps(series[name])))
    if ends:
        data.execute("INSERT INTO interval VALUES (1, 100, ?)", (json.dumps(ends),))
    data.commit()


def point(grid, mix, **values):
    base = {"grid": grid, "mix": mix, "gpu": "", "design": "", "sms": 24, "until": "completed", "settings": {}, "cycles": 1000, "warp_instructions": 100000,
            "thread_instructions": 2000000, "ipc": 1.0, "machine": {"sms": 24, "issue": 2, "line": 128, "noc": 384, "llc": 1536, "memory": 253.44,
                                                                    "dram_cycles_per_cycle": 7.92},
            "stats": dict.fromkeys(characterise.STATS, 0), "over_time": {}}
    stats = values.pop("stats", {})
    base.update(values)
    base["stats"].update(stats)
    return base


class Results(characterise.Results):
    def __init__(self, points):
        self.size, self.points, self.programs = "tiny", points, {}


class Characterise(unittest.TestCase):
    def test_units_and_tenants_are_summed(self):
        with tempfile.TemporaryDirectory() as folder:
            store = os.path.join(folder, "x.db")
            make_store(store, {"gpu.sm.0.l1_tlb.hits{tenant=0}": 3, "gpu.sm.1.l1_tlb.hits{tenant=0}": 4, "gpu.sm.1.l1_tlb.evictions": 9})
            [found] = characterise.condense(store)
        self.assertEqual(found["stats"]["gpu.sm.*.l1_tlb.hits"], 7)
        self.assertEqual(found["sms"], 24)
        self.assertAlmostEqual(found["machine"]["memory"], 253.44)

    def test_an_interval_in_two_tenths_is_divided_by_length(self):
        self.assertEqual(characterise.tenths([30, 70], [150, 1000])[:2], [20.0, 10 + 70 * 50 / 850])
        self.assertAlmostEqual(sum(characterise.tenths([30, 70], [150, 1000])), 100)

    def test_over_time_sums_to_what_grew(self):
        with tempfile.TemporaryDirectory() as folder:
            store = os.path.join(folder, "x.db")
            make_store(store, {}, {"gpu.mmu.*.walks{tenant=0}": [5, 6, 7]}, [300, 600, 1000])
            [found] = characterise.condense(store)
        self.assertAlmostEqual(sum(found["over_time"]["gpu.mmu.*.walks"]), 18, places=0)

    def test_dws_classes_are_those_of_the_printed_thresholds(self):
        misses = {"mm:variant=dws": 48, "lps:variant=dws": 50, "gups:variant=dws": 162}  # per 2 million instructions: 24, 25, 81
        rows = characterise.measured(Results([point("dws", mix, stats={"gpu.l2_tlb.*.misses": n}) for mix, n in misses.items()]), "dws")[1]
        self.assertEqual([rows[mix][1] for mix in misses], ["light", "medium", "heavy"])
        self.assertEqual(rows["hs:variant=dws"][:2], ("light", None))

    def test_first_touches_are_a_share_of_walks_and_unknown_where_not_counted(self):
        of = lambda first: point("dws", "x", stats={"gpu.mmu.*.walks": 40, "gpu.mmu.*.first_touches": first})
        self.assertEqual(characterise.first_touch_share(of(10)), 0.25)
        self.assertIsNone(characterise.first_touch_share(of(0)))

    def test_mask_classes_count_merged_misses_and_begin_at_a_fifth(self):
        stats = {"gpu.sm.*.l1_tlb.lookups": 100, "gpu.sm.*.l1_tlb.hits": 80, "gpu.l2_tlb.*.lookups": 100, "gpu.l2_tlb.*.hits": 81}
        rows = characterise.measured(Results([point("mask", "gups:variant=mask", stats=stats)]), "mask")[1]
        self.assertEqual(rows["gups:variant=mask"][:2], ("high_low", "high_low"))

    def test_classes_without_a_printed_threshold_go_by_rank(self):
        mixes = list(characterise.paper_classes("simt", ["irregular", "regular"]))
        points = []
        for i, mix in enumerate(mixes):  # the paper has the irregular ones first; here the first regular one is the slowest
            points += [point("simt", mix, design="fcfs", ipc=1.0), point("simt", mix, design="ideal", ipc=50.0 if i == 6 else 20.0 - i)]
        rows = characterise.measured(Results(points), "simt")[1]
        self.assertEqual(sum(want == got for want, got, _ in rows.values()), 10)
        self.assertEqual(rows[mixes[6]][1], "irregular")
        self.assertEqual(rows[mixes[5]][1], "regular")

    def test_the_bandwidth_model_is_that_of_the_simulator(self):
        # docs/papers/cdsearch.md: lavamd makes 652 accesses per 1,000 warp instructions, 98.8 % of them hits: 4,008 of 384 bytes per cycle.
        demand, offer = characterise.bandwidth_model(point("cd", "x", stats={"gpu.l2.*.lookups": 65200, "gpu.l2.*.hits": 64418}))
        self.assertAlmostEqual(demand, 4006, delta=3)
        self.assertEqual(offer, 384)

    def test_cd_classes_by_curve_and_by_model(self):
        points = [point("cd", "cp:variant=cd", sms=12, ipc=1.0), point("cd", "cp:variant=cd", sms=24, ipc=1.9),
                  point("cd", "lbm:variant=cd", sms=12, ipc=1.0, stats={"gpu.l2.*.lookups": 50000}), point("cd", "lbm:variant=cd", sms=24, ipc=1.79)]
        rows = characterise.measured(Results(points), "cd")[1]
        self.assertEqual((rows["cp:variant=cd"][1], rows["cp:variant=cd"][2][1]), ("compute", "compute"))
        self.assertEqual((rows["lbm:variant=cd"][1], rows["lbm:variant=cd"][2][1]), ("memory", "memory"))

    def test_a_page_keeps_its_text_and_a_wrong_one_stays_as_it_is(self):
        with tempfile.TemporaryDirectory() as folder:
            page, file = os.path.join(folder, "page.md"), os.path.join(folder, "x.json")
            with open(file, "w", encoding="utf-8") as out:
                json.dump({"size": "tiny", "programs": {}, "points": [point("dws", "mm:variant=dws", stats={"gpu.l2_tlb.*.misses": 2000})]}, out)
            command = [SCRIPT, "page", page, file]
            with open(page, "w", encoding="utf-8") as out:
                out.write("before\n<!-- made: dws -->\nold\n<!-- end -->\nafter\n")
            self.assertEqual(subprocess.run(command, check=False).returncode, 0)
            with open(page, encoding="utf-8") as text:
                made = text.read()
            self.assertTrue(made.startswith("before\n") and made.endswith("after\n"))
            self.assertIn("| mm | light | **heavy** | 1,000 |", made)
            self.assertNotIn("old", made)
            with open(page, "w", encoding="utf-8") as out:
                out.write("<!-- made: nothing -->\nold\n<!-- end -->\n")
            wrong = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(wrong.returncode, 1)
            self.assertIn("there is no block nothing", wrong.stderr)
            with open(page, encoding="utf-8") as text:
                self.assertIn("old", text.read())

    def test_the_page_of_the_tree_asks_for_every_block(self):
        with open(os.path.join(ROOT, "docs", "characterisation.md"), encoding="utf-8") as file:
            text = file.read()
        for name in characterise.BLOCKS:
            self.assertIn(f"<!-- made: {name} -->", text)


unittest.main()
