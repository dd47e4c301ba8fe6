# The picture of examples/sprinkler.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(5, 2.6))
asked = {
    "nothing seen": {},
    "grass is wet": {"wet": "yes"},
    "wet, and the sprinkler ran": {"wet": "yes", "sprinkler": "yes"},
}
ax.barh(list(asked), [network.query("rain", e)["yes"] for e in asked.values()])
ax.set_xlabel("probability of rain")
