# The picture of examples/trees_and_forests.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 3))
clock = np.linspace(0, 24, 200)
for k, name in enumerate(towns):
    rows = np.column_stack([np.full(200, k), clock, np.full(200, 40.0)])
    ax.plot(clock, booster.predict_proba(rows)[:, 1], label=name)
ax.set(xlabel="hour", ylabel="probability of being late")
ax.legend()
