# The picture of examples/nile.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 3.2))
years = 1871 + np.arange(100)
ax.plot(years, flow, ".", ms=4, label="flow")
ax.plot(years, level.mean[:, 0], label="level")
ax.fill_between(1971 + np.arange(5), ahead.low[:, 0], ahead.high[:, 0], alpha=0.3,
                label="years to come")  # fmt: skip
ax.set(ylabel="10$^8$ cubic metres")
ax.legend()
