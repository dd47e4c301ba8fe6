# The picture of examples/digits_without_labels.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 4))
for k in range(10):
    ax.scatter(*Z[digit == k, :2].T, s=5, label=str(k))
ax.set(xlabel="first axis", ylabel="second axis")
ax.legend(ncols=2, markerscale=2)
