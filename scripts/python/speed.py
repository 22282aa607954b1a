"""URLs/s of undust beside w3lib.url.canonicalize_url, on the same URLs in the same run.

Each file of records is one set of URLs, with rules learned from it. The sides take turns and the best round of each
counts: CPU time for what runs on one thread, so that a busy machine weighs on both; the clock for the batch call on all
processors, since that is what it is for. Exit code 1 where no form of the batch call is 30 times as fast as w3lib.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from w3lib.url import canonicalize_url

from undust import RuleSet

THREADS = os.cpu_count() or 1


def best(rounds, sides):
    least = [float("inf")] * len(sides)
    for _ in range(rounds):
        for i, (clock, side) in enumerate(sides):
            start = clock()
            side()
            least[i] = min(least[i], clock() - start)
    return least


failed = False
print(f"{'corpus':<14} {'call':<34} {'ns a URL':>8} {'URLs/s':>12} {'x w3lib':>8}")
for file in sys.argv[1:]:
    with gzip.open(file, "rt") as lines:
        urls = list(dict.fromkeys(json.loads(line)["url"] for line in lines))
    folder = Path(tempfile.mkdtemp(prefix="undust-speed-")) / "rules"
    learn = [os.environ["UNDUST"], "learn", file, "--out", folder, "-q"]
    subprocess.run(learn, check=True, stdout=subprocess.DEVNULL)
    rules = RuleSet.open(folder)
    one, cpu = rules.canonicalize, time.process_time
    names = ["w3lib.url.canonicalize_url", "canonicalize", "canonicalize_many",
             f"canonicalize_many, {THREADS} threads, by the clock"]
    times = best(12, [
        (cpu, lambda: [canonicalize_url(url) for url in urls]),
        (cpu, lambda: [one(url) for url in urls]),
        (cpu, lambda: rules.canonicalize_many(urls)),
        (time.perf_counter, lambda: rules.canonicalize_many(urls, threads=THREADS)),
    ])
    corpus = Path(file).name.removesuffix(".jsonl.gz")
    for name, seconds in zip(names, times):
        each = seconds / len(urls)
        print(f"{corpus:<14} {name:<44} {each * 1e9:>8.0f} {1 / each:>12,.0f} {times[0] / seconds:>7.1f}")
    failed |= times[0] / min(times[2:]) < 30
print("verdict: " + ("FAILED: a set with under" if failed else "each set with at least") + " 30 times the URLs/s of w3lib")
sys.exit(failed)
