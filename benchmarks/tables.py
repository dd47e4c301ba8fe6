"""Tables of the records: `results.md` has all of them, and a short one by rule."""

from .definition import hash_case
from .records import UNSTAMPED, stale_reason
from .stamp import BUSY, is_busy

WON, LOST, LEVEL, WORSE = "won", "lost", "level", "worse in quality"

HEAD = f"""# Benchmarks

Made by `python -m benchmarks` (`make bench`); [README.md](README.md) says how a row is
measured and redone. Ratios are peer time / our time: above 1 ours is faster.

- *wall* and *processor*: median over rounds of the ratio of wall times and of
  processor times (of all threads), quartiles in brackets. The one that counts is in
  bold: wall time, but processor time if the row is *busy*.
- *verdict*, against the fastest peer of a row: *won* if the lower quartile is above
  1, *lost* if the upper one is below 1, else *level*; *worse in quality* if our quality
  is worse than the best peer's by more than the case allows, whatever the ratio.
- *quality*: ours / peer, lower is better; for cases in which chance rules the median
  over the seeds of the rounds ("n seeds").
- *first*: the first call in a process, the cache of compiled loops empty, ours / peer
  in seconds (of the processor in a busy row); *memory*: growth of peak memory in it,
  ours / peer in MiB (a dash where less than 1 MiB shows, or where nothing tells).
- † the peer is written in this repository, for want of a package; *busy*: the load was
  above {BUSY:g}, other programs took part of the time. Such a row is measured with one
  thread, and will be run again.
"""


def fresh_rows(records, cases):
    """{(case name, index of size): row} without what is stale or failed."""
    out = {}
    for case in cases:
        now = hash_case(case)
        for i, size in enumerate(case.sizes):
            row = records.get(case, size)
            if row is None or "error" in row or stale_reason(row, case, now):
                continue
            out[case.name, i] = row
    return out


def verdict(row):
    """Of a row against its fastest peer; None if no peer was measured."""
    fastest = fastest_peer(row)
    if fastest is None:
        return None
    if not row["equal_quality"]:
        return WORSE
    low, _, high = row["peers"][fastest][clock(row)]
    return WON if low > 1 else LOST if high < 1 else LEVEL


def clock(row):
    """The time that counts: of the processor where others took part of the wall's."""
    return "processor" if is_busy(row["stamp"]) else "wall"


def fastest_peer(row):
    """The name of the peer with the lowest ratio; None if none was measured."""
    ratios = {n: p[clock(row)][1] for n, p in row["peers"].items() if clock(row) in p}
    return min(ratios, key=ratios.get, default=None)


def verdicts(case, rows):
    """Of the smallest and of the largest size; None where there is no record."""
    ends = (0, len(case.sizes) - 1)
    found = (rows.get((case.name, i)) for i in ends)
    return tuple(None if row is None else verdict(row) for row in found)


def count(cases, rows, stale):
    """The numbers that both pages begin with."""
    both = [verdicts(case, rows) for case in cases]
    table = {
        what: tuple(sum(v[end] == what for v in both) for end in (0, 1))
        for what in (WON, LOST, LEVEL, WORSE)
    }
    return {
        "cases": len(cases),
        "with a record": sum(any(v) for v in both),
        "stale": len(stale),
        "busy": sum(is_busy(row["stamp"]) for row in rows.values()),
        "rows": len(rows),
        "table": table,
    }


def counted(numbers):
    """The numbers as lines of Markdown."""
    n, known = numbers["cases"], numbers["with a record"]
    words = list(numbers["table"])
    lines = [
        f"{n} cases, {known} with a stamped record, {n - known} without; "
        f"{numbers['stale']} stale rows; {numbers['busy']} of {numbers['rows']} rows "
        "were measured on a busy machine.",
        "",
        f"| cases at | {' | '.join(words)} |",
        "|---|" + "---|" * len(words),
    ]
    for end, title in enumerate(("their smallest size", "their largest size")):
        values = " | ".join(str(numbers["table"][w][end]) for w in words)
        lines.append(f"| {title} | {values} |")
    return lines


def write_tables(records, cases, files, results, readme):
    """The page of results, and the plot of the README with the text below it.

    `files` maps names of cases to the files that define them.
    """
    from .plot import write_plot

    rows = fresh_rows(records, cases)
    numbers = count(cases, rows, records.stale(cases))
    page = results_page(records, cases, files, rows, numbers)
    results.write_text(page, "utf-8")
    text = readme.read_text("utf-8")
    before, rest = text.split(START)
    after = rest.split(END)[1]
    picture = readme.parent / "docs" / "images" / "benchmarks.svg"
    plot = write_plot(records, cases, files, picture)
    readme.write_text(f"{before}{START}\n\n{plot}\n\n{END}{after}", "utf-8")


def results_page(records, cases, files, rows, numbers):
    lines = [HEAD, *counted(numbers), "", "## By rule", ""]
    lines += [*rule_lines(cases, files, rows), "", "## All rows", ""]
    lines += [
        "| case | size | peer | wall | processor | verdict | quality | first | memory "
        "| rounds | measured |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for case in cases:
        for i in range(len(case.sizes)):
            if (case.name, i) in rows:
                lines += result_lines(case, rows[case.name, i])
    lines += ["", "## Cases", "", "| case | what | target | growth | notes |"]
    lines += ["|---|---|---|---|---|"]
    for case in cases:
        wanted = {case.main or next(iter(case.peers), ""): case.target, **case.targets}
        goals = ", ".join(f"{goal:g} ({peer})" for peer, goal in wanted.items())
        what = cell(case.what)
        lines.append(
            f"| {case.name} | {what} | {goals} | {growth(case, rows)} | "
            f"{cell(case.notes)} |"
        )
    lines += ["", "## Stamps", ""]
    lines += ["| stamp | processor | cores | threads | Python | versions |"]
    lines += ["|---|---|---|---|---|---|", *stamp_lines(rows)]
    if records.unstamped:
        lines += ["", f"## Ratios that are {UNSTAMPED}", "", OLD, ""]
        lines += [
            f"- {u['case']}: "
            + ", ".join(f"{ratio:g} ({peer})" for peer, ratio in u["ratios"].items())
            for u in records.unstamped
        ]
    return "\n".join(lines) + "\n"


OLD = """Of cases that have not been run since: the largest size; commit, versions and
load unknown, some of definitions that have changed. They count as stale and
are quoted nowhere else."""


def result_lines(case, row):
    """A line for each peer; one for ours alone where no peer was asked."""
    size, ours, stamp = row["size"], row["ours"], row["stamp"]
    busy = ", busy" if is_busy(stamp) else ""
    measured = (
        f"{stamp['date'][:10]}, {stamp['commit'][:8]}{'+' * ('+' in stamp['commit'])}, "
        f"threads {stamp['threads']}, "
        f"load {stamp['load'][0]:g} to {stamp['load'][1]:g}{busy}"
    )
    size = ", ".join(map(str, size)) if isinstance(size, list) else str(size)
    lines = []
    for name, peer in row["peers"].items():
        mark = " †" if name in case.written else ""
        if "error" in peer:
            lines.append(
                f"| {case.name} | {size} | {name}{mark} | {reason(peer['error'])} | | "
                f"| | | | | {measured} |"
            )
            continue
        seeds = f" ({row['rounds']} seeds)" if row["seeded"] else ""
        key = "first_s" if clock(row) == "wall" else "first_processor_s"
        first = f"{ours[key]:.1f} / {peer[key]:.1f}" if row["cold"] else ""
        ratios = (ratio_text(peer[c], c == clock(row)) for c in ("wall", "processor"))
        lines.append(
            f"| {case.name} | {size} | {name}{mark} | {' | '.join(ratios)} | "
            f"{pair_verdict(row, peer)} | "
            f"{ours['quality']:.6g} / {peer['quality']:.6g}{seeds} | {first} | "
            f"{megabytes(ours)} / {megabytes(peer)} | {row['rounds']} | {measured} |"
        )
    return lines


def ratio_text(quartiles, counts):
    low, ratio, high = quartiles
    bold = "**" if counts else ""
    return f"{bold}{ratio:.2f}{bold} [{low:.2f}, {high:.2f}]"


def pair_verdict(row, peer):
    return verdict({**row, "peers": {"": peer}})


def reason(error):
    """An absent peer, or how it failed."""
    return "absent" if error.startswith("ModuleNotFound") else cell(error[:80])


def megabytes(contender):
    grown = contender["memory_mib"]
    return "–" if grown is None or grown < 1 else f"{grown:.0f}"


def growth(case, rows):
    """Our time at each size, relative to the smallest."""
    every = [rows.get((case.name, i)) for i in range(len(case.sizes))]
    if None in every:
        return ""
    steps = [row["ours"]["median_s"] for row in every]
    return " → ".join(f"{t / steps[0]:.1f}" for t in steps)


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def stamp_lines(rows):
    """Environments, each once: processor, Python and versions of what was loaded."""
    merged = []
    for row in rows.values():
        stamp = row["stamp"]
        where = [stamp["date"][:10], stamp["processor"], stamp["cores"]]
        where += [stamp["threads"], stamp["python"]]
        new = stamp["versions"]
        for place, versions in merged:
            agree = all(versions.get(name, v) == v for name, v in new.items())
            if place == where and agree:
                versions.update(new)
                break
        else:
            merged.append((where, dict(new)))
    return [
        f"| {' | '.join(map(str, where))} | "
        + ", ".join(f"{name} {v}" for name, v in sorted(versions.items()))
        + " |"
        for where, versions in merged
    ]


# -- the short table, and what the README shows ---------------------------------------

START, END = (
    "<!-- benchmarks: written by `make bench` -->",
    "<!-- end of benchmarks -->",
)

RULE = """The table is made by a rule: the first case of every file in `benchmarks/`,
and then every other case that ours loses or answers worse at its smallest or
largest size. A cell is the fastest peer's time over ours (above 1: ours is
faster), the median of interleaved rounds with its quartiles, at equal or
better quality unless it says *worse*. † is a baseline written in this
repository; ‡ the machine was busy: one
thread, and the ratio is that of processor times."""


def rule_lines(cases, files, rows):
    """The short table, with its rule and with what it lacks."""
    lines = [RULE, "", "| case | what | smallest | largest |", "|---|---|---|---|"]
    chosen, absent, met = [], [], set()
    for case in cases:
        is_first = files[case.name] not in met
        met.add(files[case.name])
        found = verdicts(case, rows)
        if any(found) and (is_first or LOST in found or WORSE in found):
            chosen.append((not is_first, case))
        elif is_first:
            absent.append(case.name)
    for _, case in sorted(chosen, key=lambda pair: pair[0]):
        ends = (rule_cell(case, rows.get((case.name, i))) for i in ends_of(case))
        lines.append(f"| {case.name} | {what_text(case)} | {' | '.join(ends)} |")
    if absent:
        lines += [
            "",
            f"First of their file, no stamped record yet: {', '.join(absent)}.",
        ]
    return lines


def what_text(case):
    return cell(f"{case.what}; {case.notes}" if case.notes else case.what)


def ends_of(case):
    return 0, len(case.sizes) - 1


def rule_cell(case, row):
    """The fastest peer of a row: ratio, quartiles, name and marks."""
    if row is None or verdict(row) is None:
        return "–"
    name = fastest_peer(row)
    mark = "†" if name in case.written else ""
    worse = "" if row["equal_quality"] else ", worse"
    busy = "‡" if is_busy(row["stamp"]) else ""
    quartiles = row["peers"][name][clock(row)]
    digits = 1 if quartiles[1] >= 10 else 2
    low, ratio, high = (f"{value:.{digits}f}" for value in quartiles)
    return f"{ratio}{busy} [{low}, {high}] {name}{mark}{worse}"
