# The picture of examples/eight_schools.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 3.2))
ax.errorbar(
    y.numpy(), range(8), xerr=s.numpy(), fmt="o", label="estimate of each school"
)
shared = float(table.mean[0])
ax.axvline(shared, ls="--", color="#c2571a", label="mean of all schools")
ax.set(xlabel="effect", ylabel="school")
ax.legend()
