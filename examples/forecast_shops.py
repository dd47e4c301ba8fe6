"""Forecast the sales of many shops at once, by the method that did best before."""

import tempfile

import numpy as np

import pansophy

rng = np.random.default_rng(0)
months = np.arange("2019-01", "2024-01", dtype="M8[M]").astype("M8[D]")
table = {"month": [], "shop": [], "sales": []}
for shop in range(12):
    t = np.arange(60)
    season = 1 + 0.2 * np.sin(2 * np.pi * t / 12)
    sales = (100 + 20 * shop + 0.5 * t) * season + rng.normal(0, 5, 60)
    for month, value in zip(months, sales, strict=True):
        if rng.random() > 0.03:  # a few months were never written down
            table["month"].append(str(month))
            table["shop"].append(f"shop {shop}")
            table["sales"].append(value)

result = pansophy.forecast(
    table,
    time="month",
    target="sales",
    series=["shop"],
    horizon=6,
    methods=["theta", "dynamic theta", "exponential smoothing", "global ridge"],
)
print(result)
print(result.table().slice(0, 6).to_pandas())

written = result.write(tempfile.mkdtemp())
print("the report is in", written["Report"].name)

# next month one shop sends its figure
later = {"month": ["2024-01-01"], "shop": ["shop 3"], "sales": [180.0]}
model = pansophy.load(written["Model"])
moved = model.predict_table(later).to_pandas()
first = moved[moved["shop"] == "shop 3"].iloc[0]
assert str(first["month"]).startswith("2024-02")
assert result.ranking[0].skill.mean > 0
