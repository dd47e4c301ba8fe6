"""A table and the folder of its comparison, which the tests of commands share."""

import csv

import numpy as np
import pytest

from tests.cli.commands import call


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 80
    x, c = rng.normal(size=n), rng.choice(["u", "v"], n)
    y = np.where(x + (c == "u") > 0.5, "yes", "no")
    path = tmp_path_factory.mktemp("cli") / "t.csv"
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["x", "c", "y"])
        out.writerows(zip(x.round(4), c, y))
    return path


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    """Commands fit here; the comparison of `folder`, made before, had workers."""
    monkeypatch.setenv("PANSOPHY_WORKERS", "0")


@pytest.fixture(scope="session")
def folder(table):
    out = table.parent / "out"
    words = "--repeats 1 --folds 3 --methods logistic-regression"
    done = call("compare", table, "--target", "y", "--out", out, *words.split())
    assert done.exit_code == 0, done.output
    assert "logistic regression" in done.stdout and "dummy" in done.stdout
    assert str(out / "report.html") in done.stdout
    return out
