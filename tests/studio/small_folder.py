"""The table that tests of the studio are about: people, one with an age of "3a"."""

import numpy as np

METHODS = ["logistic regression", "decision tree"]


def write_survey(path, n=120, seed=0):
    """A table of people who bought something or not, as CSV."""
    rng = np.random.default_rng(seed)
    age = [str(v) for v in rng.integers(18, 80, n)]
    age[17] = "3a"
    income = rng.normal(50, 12, n).round(1)
    sex = rng.choice(["f", "m"], n)
    bought = np.where(rng.random(n) < 1 / (1 + np.exp((50 - income) / 4)), "yes", "no")
    lines = ["age,income,sex,bought"]
    lines += [",".join(map(str, row)) for row in zip(age, income, sex, bought)]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def write_sales(path, years=4):
    """Monthly sales of two shops, as CSV."""
    lines = ["month,shop,sales"]
    for shop, base in (("north", 100), ("south", 160)):
        for k in range(12 * years):
            month = f"{2018 + k // 12}-{k % 12 + 1:02}-01"
            sales = base + 0.5 * k + 15 * np.sin(k * np.pi / 6)
            lines.append(f"{month},{shop},{sales:.1f}")
    path.write_text("\n".join(lines) + "\n", "utf-8")
