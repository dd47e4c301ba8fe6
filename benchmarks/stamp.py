"""Where, when and with what a row was measured: to doubt it, and to redo it."""

import datetime
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
import tomllib
from pathlib import Path

HOME = Path(__file__).parents[1]
BUSY = 2.5  # a load above this: other programs took part of the time
REQUIRED = (
    "commit", "date", "processor", "cores", "threads", "load", "python", "versions",
)  # fmt: skip
ALWAYS = ("numpy", "pansophy")  # versions that no stamp lacks


def begin_stamp(threads):
    """What is known before the measurement."""
    return {
        "commit": commit(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "load": [round(os.getloadavg()[0], 2)],
        "python": platform.python_version(),
        "versions": {},
    }


def finish_stamp(stamp, versions, seconds):
    """The stamp with what is known afterwards: load, versions, seconds of the row."""
    load = [*stamp["load"], round(os.getloadavg()[0], 2)]
    versions = dict(sorted(versions.items()))
    return {**stamp, "load": load, "versions": versions, "seconds": round(seconds, 1)}


def missing_fields(stamp):
    """What a stamp lacks, by name."""
    lacks = [name for name in REQUIRED if not stamp.get(name)]
    lacks += [name for name in ALWAYS if name not in stamp.get("versions", {})]
    if len(stamp.get("load", ())) != 2 and "load" not in lacks:
        lacks.append("load at the end")
    return lacks


def is_busy(stamp):
    return max(stamp["load"]) > BUSY


def commit():
    """Of the working tree; with a + if files of the library have changed since."""
    run = lambda *words: subprocess.run(
        ["git", "-C", str(HOME), *words], capture_output=True, text=True, check=False
    ).stdout.strip()
    changed = run("status", "--porcelain", "--", "src")
    return run("rev-parse", "HEAD")[:12] + ("+" if changed else "")


def processor():
    """The processor's model and its family, as far as the system tells."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    fields = re.findall(r"^([\w ]+?)\s*: (.+)$", text, re.MULTILINE)
    first = dict(reversed(fields))
    if "model name" not in first:
        return platform.processor() or platform.machine()
    family = f"{first.get('cpu family', '?')}, model {first.get('model', '?')}"
    return f"{first['model name']} (family {family})"


def loaded_versions():
    """Versions of ours and of the declared packages that this process has loaded."""
    project = tomllib.loads((HOME / "pyproject.toml").read_text("utf-8"))["project"]
    requirements = list(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        requirements += extra
    declared = {normal(re.split(r"[\[<>=;]", r)[0].strip()) for r in requirements}
    loaded = {name.partition(".")[0] for name in list(sys.modules)}
    versions = {}
    for module, packages in importlib.metadata.packages_distributions().items():
        for package in packages:
            if module in loaded and normal(package) in declared:
                versions[normal(package)] = importlib.metadata.version(package)
    if "pansophy" in sys.modules:
        versions["pansophy"] = sys.modules["pansophy"].__version__
    return versions


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()
