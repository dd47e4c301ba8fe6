"""Well-known small example networks, and random networks for benchmarks."""

import numpy as np

from .bayesian_network import BayesianNetwork
from .conditional_distributions import ConditionalTable
from .variables import VariableSpace

BINARY_STATES = (False, True)


def sprinkler_network() -> BayesianNetwork:
    """Clouds make rain likely and the sprinkler unlikely; either wets the grass.

    Examples
    --------
    >>> from pansophy.graphical import sprinkler_network
    >>> round(sprinkler_network().query("sprinkler", {"wet": True})[True], 4)
    0.4298
    """
    return BayesianNetwork.from_tables(
        {
            "cloudy": [0.5, 0.5],
            "sprinkler | cloudy": [[0.5, 0.5], [0.9, 0.1]],
            "rain | cloudy": [[0.8, 0.2], [0.2, 0.8]],
            "wet | sprinkler, rain": [
                [[1.0, 0.0], [0.1, 0.9]],
                [[0.1, 0.9], [0.01, 0.99]],
            ],
        },
        dict.fromkeys(("cloudy", "sprinkler", "rain", "wet"), BINARY_STATES),
    )


def alarm_network() -> BayesianNetwork:
    """A burglary or an earthquake sets off an alarm, about which two neighbours call.

    Examples
    --------
    >>> from pansophy.graphical import alarm_network
    >>> round(alarm_network().query("burglary", {"john": True, "mary": True})[True], 4)
    0.2842
    """
    return BayesianNetwork.from_tables(
        {
            "burglary": [0.999, 0.001],
            "earthquake": [0.998, 0.002],
            "alarm | burglary, earthquake": [
                [[0.999, 0.001], [0.71, 0.29]],
                [[0.06, 0.94], [0.05, 0.95]],
            ],
            "john | alarm": [[0.95, 0.05], [0.1, 0.9]],
            "mary | alarm": [[0.99, 0.01], [0.3, 0.7]],
        },
        dict.fromkeys(
            ("burglary", "earthquake", "alarm", "john", "mary"), BINARY_STATES
        ),
    )


def student_network() -> BayesianNetwork:
    """A grade depends on difficulty and intelligence; a letter on the grade.

    Examples
    --------
    >>> from pansophy.graphical import student_network
    >>> round(student_network().query("letter")["strong"], 4)
    0.5023
    """
    return BayesianNetwork.from_tables(
        {
            "difficulty": [0.6, 0.4],
            "intelligence": [0.7, 0.3],
            "grade | intelligence, difficulty": [
                [[0.3, 0.4, 0.3], [0.05, 0.25, 0.7]],
                [[0.9, 0.08, 0.02], [0.5, 0.3, 0.2]],
            ],
            "sat | intelligence": [[0.95, 0.05], [0.2, 0.8]],
            "letter | grade": [[0.1, 0.9], [0.4, 0.6], [0.99, 0.01]],
        },
        {
            "difficulty": ["easy", "hard"],
            "intelligence": ["low", "high"],
            "grade": ["A", "B", "C"],
            "sat": ["low", "high"],
            "letter": ["weak", "strong"],
        },
    )


def random_network(
    n_nodes: int = 37,
    n_edges: int = 46,
    *,
    states=(2, 4),
    max_parents: int = 4,
    reach: int = 8,
    seed: int = 0,
) -> BayesianNetwork:
    """A network with random tables: edges go to one of the next `reach` nodes.

    The defaults have the size of the ALARM patient-monitoring network, a common
    benchmark.

    Examples
    --------
    >>> from pansophy.graphical import random_network
    >>> network = random_network()
    >>> len(network.nodes), sum(map(len, network.parents))
    (37, 46)
    """
    rng = np.random.default_rng(seed)
    max_edges = sum(min(i, reach, max_parents) for i in range(n_nodes))
    if n_edges > max_edges:
        raise ValueError(
            f"{n_nodes} nodes take at most {max_edges} edges, got {n_edges}."
        )
    sizes = rng.integers(states[0], states[1] + 1, n_nodes)
    parents: list[set] = [set() for _ in range(n_nodes)]
    remaining = n_edges
    while remaining:
        j = int(rng.integers(1, n_nodes))
        i = int(rng.integers(max(0, j - reach), j))
        if i not in parents[j] and len(parents[j]) < max_parents:
            parents[j].add(i)
            remaining -= 1
    node_parents = [tuple(sorted(p)) for p in parents]
    nodes = [
        ConditionalTable(
            rng.dirichlet(np.ones(sizes[i]), size=[sizes[p] for p in node_parents[i]])
        )
        for i in range(n_nodes)
    ]
    return BayesianNetwork.from_nodes(
        VariableSpace.of_sizes(sizes), node_parents, nodes
    )
