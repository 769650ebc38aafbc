#!/usr/bin/env python3
"""configs/sets/draw.py: writes the sets of all papers beside itself.

The papers say how many mixes they ran, by which rule they drew them, and name some. Here the named ones come first and the
rest is drawn by the same rule, from the seed below: the same files every time.
"""
import itertools
import pathlib

SEED = 2018


class Draw:
    """A 64-bit linear congruential generator (Knuth's MMIX constants): nothing of the interpreter's."""

    def __init__(self, stream):
        self.state = SEED
        for character in stream:
            self.state = self.state * 31 + ord(character)

    def below(self, bound):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) * bound >> 31

    def some(self, items, count):
        """`count` of the items, in the order in which they come."""
        left, taken = list(items), []
        for _ in range(count):
            taken.append(left.pop(self.below(len(left))))
        return taken


class Set:
    def __init__(self, paper, summary, notes):
        self.paper, self.text, self.lists = paper, f"# {summary}\n", []
        self.text += "".join(f"# {note}\n" for note in notes)
        self.text += "# Written by configs/sets/draw.py; the seed of what is drawn is %d.\n" % SEED

    def add(self, name, about, mixes, given=lambda tenant: tenant):
        self.lists.append((name, about, [[given(tenant) for tenant in mix] for mix in mixes]))

    def write(self):
        variant = lambda tenant: tenant if ":" in tenant else f"{tenant}:variant={self.paper}"
        lines = [self.text, "[about]\n"]
        lines += [f'{name} = "{about}"\n' for name, about, _ in self.lists]
        lines.append("\n[lists]\n")
        for name, _, mixes in self.lists:
            lines.append(f"{name} = [\n")
            lines += ["  [" + ", ".join(f'"{variant(tenant)}"' for tenant in mix) + "],\n" for mix in mixes]
            lines.append("]\n")
        (pathlib.Path(__file__).parent / f"{self.paper}.toml").write_text("".join(lines))


def alone(names):
    return [[name] for name in names]


def pairs_of(text):
    return [pair.lower().replace("gup_", "gups_").split("_") for pair in text.split()]


def mask():
    quadrants = {
        "low_low": "lud nn".split(),
        "low_high": "bfs fft histo nw qtc ray sad scp".split(),
        "high_low": "bp gups hs lps".split(),
        "high_high": "3ds blk cfd cons fwt luh mm mum red sc scan srad trd".split(),
    }
    names = [name for quadrant in quadrants.values() for name in quadrant]
    out = Set("mask", "The workload sets of MASK (ASPLOS'18)", [
        "Table 2 has the 27 applications by the miss rates of L1 and L2 TLB, high from 20 % on. Of its 35 pairs, drawn so that",
        "never both are of low_low, the text names nine. Of the four of Figure 7 the text names 3DS_HISTO; the others are the",
        "labels of the figure. Table 3 has one to five applications and names none.",
    ])
    out.add("applications", "the 27 applications, one at a time", alone(names))
    for name, members in quadrants.items():
        levels = name.split("_")
        out.add(name, f"Table 2: applications with {levels[0]} L1 and {levels[1]} L2 TLB miss rate", alone(members))
    named = pairs_of("3DS_HISTO RED_BP RED_RAY SC_FWT MM_CONS SCAN_SAD SCAN_HISTO SCAN_SRAD SCAN_CONS")
    figure7 = pairs_of("3DS_HISTO CONS_LPS MUM_HISTO RED_RAY")
    pairs = named + [pair for pair in figure7 if pair not in named]
    taken = {frozenset(pair) for pair in pairs}
    low = set(quadrants["low_low"])
    allowed = [pair for pair in itertools.combinations(names, 2) if frozenset(pair) not in taken and not set(pair) <= low]
    pairs += [list(pair) for pair in Draw("mask.pairs").some(allowed, 35 - len(pairs))]
    out.add("named_pairs", "the nine pairs that the text names", named)
    out.add("figure7", "the four pairs of Figure 7", figure7)
    out.add("pairs", "35 pairs: the named ones and those of Figure 7, the rest drawn by the paper's rule", pairs)
    high = set(quadrants["high_high"])
    for count, name in enumerate(["none_high", "one_high", "two_high"]):
        members = [pair for pair in pairs if sum(tenant in high for tenant in pair) == count]
        out.add(name, f"{count}-HMR: those of the 35 pairs with so many applications of high_high", members)
    draw = Draw("mask.applications")
    rows = [draw.some([name for name in names if name not in low], 5) for _ in range(5)]
    for count, name in enumerate(["one", "two", "three", "four", "five"], start=1):
        out.add(name, f"Table 3: five drawn mixes of {name}, each with all tenants of a smaller one",
                [row[:count] for row in rows])
    out.write()


def dws():
    classes = {
        "light": "mm hs ray fft".split(),
        "medium": "lps jpeg lib srad 3ds".split(),
        "heavy": "blk qtc sad gups".split(),
    }
    names = [name for members in classes.values() for name in members]
    out = Set("dws", "The workload sets of DWS (HPCA'21)", [
        "Table II has the 13 applications by misses of the L2 TLB. Of 78 pairs the paper ran 45 of all six classes, 32 of them",
        "with a heavy tenant, and 14 mixes of three or four tenants; it names 17 pairs and none of the mixes.",
    ])
    out.add("applications", "the 13 applications, one at a time", alone(names))
    for name, members in classes.items():
        out.add(name, f"Table II: {name} applications", alone(members))
    named = {
        ("light", "light"): "HS.MM FFT.HS",
        ("medium", "light"): "3DS.FFT LIB.MM",
        ("medium", "medium"): "3DS.SRAD LIB.JPEG",
        ("heavy", "light"): "BLK.HS GUPS.MM SAD.MM",
        ("heavy", "medium"): "BLK.3DS GUPS.JPEG GUPS.3DS SAD.3DS BLK.LIB",
        ("heavy", "heavy"): "GUPS.SAD QTC.BLK SAD.QTC",
    }
    # 32 have a heavy tenant, 13 have none (section VII); how many of each class the paper does not say.
    counts = {("light", "light"): 3, ("medium", "light"): 5, ("medium", "medium"): 5,
              ("heavy", "light"): 12, ("heavy", "medium"): 14, ("heavy", "heavy"): 6}
    every, all_named, of_class = [], [], []
    draw = Draw("dws.pairs")
    for key, text in named.items():
        pairs = [pair.lower().split(".") for pair in text.split()]
        all_named += pairs
        taken = {frozenset(pair) for pair in pairs}
        first, second = classes[key[0]], classes[key[1]]
        possible = itertools.combinations(first, 2) if first is second else itertools.product(first, second)
        possible = [list(pair) for pair in possible if frozenset(pair) not in taken]
        pairs = pairs + draw.some(possible, counts.get(key, len(pairs)) - len(pairs))
        of_class.append((f"{key[0]}_{key[1]}", pairs))
        every += pairs
    out.add("named_pairs", "the pairs that the text names", all_named)
    out.add("pairs", "45 pairs: the named ones, all of two heavy tenants, the rest drawn", every)
    for name, pairs in of_class:
        out.add(name, f"those of the 45 pairs of a {name.split('_')[0]} and a {name.split('_')[1]} tenant", pairs)
    draw = Draw("dws.tenants")
    for count, name in [(3, "three"), (4, "four")]:
        mixes = []
        while len(mixes) < 7:
            mix = draw.some(names, count)
            if set(mix) & set(classes["heavy"]) and sorted(mix) not in [sorted(other) for other in mixes]:
                mixes.append(mix)
        out.add(name, f"Figure 13: seven drawn mixes of {name} tenants, at least one of them heavy", mixes)
    large = {"gups": "gups:variant=dws,table_log2=25", "sad": "sad:variant=dws,width=704,height=576",
             "blk": "blk:variant=dws,options=6400000"}
    pairs = [[heavy, other] for heavy in large for other in ["mm", "hs", "fft", "srad", "3ds"]]
    pairs += [list(pair) for pair in itertools.combinations(large, 2)]
    out.add("large_pages", "Figure 14, pages of 64 KB: heavy tenants with enlarged footprints", pairs,
            lambda tenant: large.get(tenant, tenant))
    out.write()


def simt():
    irregular = "xsbench mvt atax nw bicg gesummv".split()
    regular = "sssp mis color bp kmeans hs".split()
    out = Set("simt", "The workloads of the SIMT-aware walk scheduler (ISCA'18), Table II", [])
    out.add("applications", "the twelve applications", alone(irregular + regular))
    out.add("irregular", "those with divergent accesses", alone(irregular))
    out.add("regular", "the others", alone(regular))
    out.write()


def cd():
    compute = "dxtc tpacf bino leu cp merge pathfinder".split()
    memory = "lavamd gaussian lbm dwt2d gesummv pvc sc".split()
    out = Set("cd", "The workload sets of CD-search (ICS'18)", [
        "Table 1 has the 14 applications; the paper ran all 91 pairs. It ran mixes of four and names none.",
    ])
    out.add("applications", "the 14 applications, one at a time", alone(memory + compute))
    out.add("memory", "memory-intensive applications", alone(memory))
    out.add("compute", "compute-intensive applications", alone(compute))
    mixed = [list(pair) for pair in itertools.product(memory, compute)]
    of_memory = [list(pair) for pair in itertools.combinations(memory, 2)]
    of_compute = [list(pair) for pair in itertools.combinations(compute, 2)]
    out.add("named_pairs", "the pairs that the text names", pairs_of(
        "GAUSSIAN_LEU DWT2D_LEU LAVAMD_MERGE LBM_DWT2D LBM_LAVAMD LAVAMD_GAUSSIAN BINO_LEU"))
    out.add("pairs", "all 91 pairs", mixed + of_memory + of_compute)
    out.add("heterogeneous", "the 49 pairs of a memory-intensive and a compute-intensive application", mixed)
    out.add("memory_pairs", "the 21 pairs of memory-intensive applications", of_memory)
    out.add("compute_pairs", "the 21 pairs of compute-intensive applications", of_compute)
    draw = Draw("cd.quads")
    halves = list(itertools.product(itertools.combinations(memory, 2), itertools.combinations(compute, 2)))
    out.add("quads", "20 drawn mixes of two memory-intensive and two compute-intensive applications",
            [list(a + b) for a, b in draw.some(halves, 20)])
    out.add("memory_quads", "ten drawn mixes of four memory-intensive applications",
            [list(quad) for quad in draw.some(itertools.combinations(memory, 4), 10)])
    out.write()


def vc():
    low = "kmeans bp hs nw pathfinder".split()
    high = "bc color color_maxmin fw fw_block mis pagerank pagerank_spmv bfs lud".split()
    out = Set("vc", "The workloads of virtual caching (ASPLOS'18)", [])
    out.add("applications", "the 15 applications", alone(high + low))
    out.add("high", "those that need much translation bandwidth", alone(high))
    out.add("low", "those that need little", alone(low))
    out.write()


for paper in (mask, dws, simt, cd, vc):
    paper()
