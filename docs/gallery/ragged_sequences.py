# The picture of examples/ragged_sequences.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, axes = plt.subplots(2, 1, figsize=(6, 3.2), sharex=True)
for ax, which, title in zip(axes, (0, 1), ("sound", "worn")):
    ax.plot(runs[which])
    ax.set_title(title)
axes[1].set_xlabel("step")
