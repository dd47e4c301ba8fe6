# The picture of examples/forecast_shops.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 3.2))
for shop in ("shop 0", "shop 5", "shop 11"):
    rows = [i for i, s in enumerate(table["shop"]) if s == shop]
    when = np.array([table["month"][i] for i in rows], dtype="M8[D]")
    line = ax.plot(when, [table["sales"][i] for i in rows], label=shop)[0]
    ahead = result.table().to_pandas().query("shop == @shop")
    value = next(c for c in ahead.columns if ahead[c].dtype.kind == "f")
    ax.plot(ahead["month"], ahead[value], "--", color=line.get_color())
ax.set(ylabel="sales")
ax.legend()
