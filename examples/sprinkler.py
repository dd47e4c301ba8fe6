"""Why is the grass wet? Seeing, explaining away, and setting in a small network.

Clouds make rain likely and the sprinkler unlikely; either wets the grass.
"""

from pansophy.graphical import BayesianNetwork
from pansophy.teaching import explaining_away

network = BayesianNetwork.from_tables(
    {
        "cloudy": [0.5, 0.5],
        "sprinkler | cloudy": [[0.5, 0.5], [0.9, 0.1]],
        "rain | cloudy": [[0.8, 0.2], [0.2, 0.8]],
        "wet | sprinkler, rain": [[[1.0, 0.0], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]],
    },
    states=dict.fromkeys(["cloudy", "sprinkler", "rain", "wet"], ("no", "yes")),
)
print(network)
print("\n(cells, free) =", tuple(network.n_parameters()))
print("cost of P(rain | wet):", network.inference_cost("rain", ["wet"]))

print("\nThe grass is wet:", network.query("rain", {"wet": "yes"}), sep="\n")
print(explaining_away(network, "rain", "sprinkler", {"wet": "yes"}))
print("\nLikeliest story:", network.most_likely({"wet": "yes"}))

print("\nIs rain tied to the sprinkler?")
print(network.is_d_separated("rain", "sprinkler"))
print(network.is_d_separated("rain", "sprinkler", "cloudy"))
print(network.is_d_separated("rain", "sprinkler", ["cloudy", "wet"]))

seen = network.query("cloudy", {"sprinkler": "yes"})["yes"]
done = network.do(sprinkler="yes").query("cloudy")["yes"]
print(
    f"\nClouds if the sprinkler is seen running: {seen:.3f}, if turned on: {done:.3f}"
)

rows = network.sample(5000, random_state=0)
learned = BayesianNetwork(network.edges, prior="laplace")
learned.fit(dict(zip(network.space.names, rows.T, strict=True)))
print("\nLearned from 5,000 rows:", learned.query("rain", {"wet": "yes"}), sep="\n")
