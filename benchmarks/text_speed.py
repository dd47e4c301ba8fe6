"""Speed of text methods against their peers in processor time, on a busy machine.

    python -m benchmarks.text_speed [pattern ...]        writes text_speed.md

The cases are those of `bench_text.py`, at their largest size. Ours and the peer take
turns in one process; the figure is the ratio of the smallest processor times of all
threads, which other programs on the machine hardly change. `python -m benchmarks`
compares wall times on a quiet machine.
"""

import os
import re
import sys
import time
from pathlib import Path

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ.setdefault(f"{_name}_NUM_THREADS", "2")

ROUNDS = 10
HEAD = """# Speed of text methods in processor time

Made by `python -m benchmarks.text_speed` at the largest size of each case of
`bench_text.py`: the smallest of {rounds} interleaved runs each, processor time of all
threads, on two cores that other programs were using. Above 1 ours is faster; quality is
lower where better and must be equal within the tolerance of the case. The texts of the
tokenisers are Python's documentation over and over, in which pieces repeat more often
than in other text of that length.

| case | what | size | peer | ratio | target | ours, s | peer, s | quality of both |
|---|---|---|---|---|---|---|---|---|
"""


def smallest_times(functions, payload, quality):
    """The smallest processor time of each function, and the quality of its result."""
    times = {name: float("inf") for name in functions}
    qualities = {}
    for _ in range(ROUNDS):
        for name, function in functions.items():
            begun = time.process_time()
            result = function(payload)
            times[name] = min(times[name], time.process_time() - begun)
            qualities[name] = quality(payload, result)
    return times, qualities


def rows_of_case(case):
    """A line of the table for each peer."""
    small = case.data(case.sizes[0])
    for function in (case.ours, *case.peers.values()):  # compile and load
        case.quality(small, function(small))
    payload = case.data(case.sizes[-1])
    for peer, function in case.peers.items():
        both = {"ours": case.ours, "peer": function}
        times, quality = smallest_times(both, payload, case.quality)
        yield (
            f"| {case.name} | {case.what} | {case.sizes[-1]} | {peer} | "
            f"**{times['peer'] / times['ours']:.2f}** | {case.target} | "
            f"{times['ours']:.3f} | {times['peer']:.3f} | "
            f"{quality['ours']:.6g}, {quality['peer']:.6g} |"
        )


def main(patterns):
    from .bench_text import CASES

    path = Path(__file__).parent / "text_speed.md"
    lines = []
    for case in CASES:
        if patterns and not any(re.search(p, case.name) for p in patterns):
            continue
        for line in rows_of_case(case):
            print(line, flush=True)
            lines.append(line)
    path.write_text(HEAD.format(rounds=ROUNDS) + "\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
