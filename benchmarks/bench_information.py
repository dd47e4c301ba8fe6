"""Information, divergences and transport against SciPy and scikit-learn."""

import numpy as np

from .runner import Case


def simplexes(size):
    """Rows of probabilities p and q."""
    n, m = size
    rng = np.random.default_rng(0)
    p, q = rng.random((2, n, m)) + 1e-3
    return p / p.sum(axis=1, keepdims=True), q / q.sum(axis=1, keepdims=True)


def codes(size):
    n, a, b = size
    rng = np.random.default_rng(0)
    x = rng.integers(0, a, n)
    return x, (x + rng.integers(0, b, n)) % b


def numbers(size):
    n, m = size
    rng = np.random.default_rng(0)
    return rng.standard_normal(n), rng.standard_normal(m) + 0.3


def clouds(size):
    n, d = size
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)), rng.standard_normal((n, d)) + 0.5


def weighed(size):
    x, y = clouds(size)
    rng = np.random.default_rng(1)
    u, v = rng.random((2, len(x))) + 0.1
    return x, y, u / u.sum(), v / v.sum()


def our(name, **options):
    def run(payload):
        from pansophy import distributions

        return getattr(distributions, name)(*payload, **options)

    return run


def our_information(payload):
    from pansophy.distributions import JointTable

    return JointTable.from_samples(np.column_stack(payload)).mutual_information(0, 1)


def sklearn_information(payload):
    from sklearn.metrics import mutual_info_score

    return mutual_info_score(*payload)


def scipy_kl(payload):
    import scipy.stats

    return scipy.stats.entropy(*payload, axis=-1)


def scipy_js(payload):
    from scipy.spatial.distance import jensenshannon

    return jensenshannon(*payload, axis=-1) ** 2


def scipy_line(payload):
    import scipy.stats

    return scipy.stats.wasserstein_distance(*payload)


def scipy_cloud(payload):
    import scipy.stats

    return scipy.stats.wasserstein_distance_nd(*payload)


def far_from(reference):
    """Distance of a result from the peer's: ours must find the same value."""
    return lambda payload, result: float(
        np.max(np.abs(np.asarray(result) - np.asarray(reference(payload))))
    )


def value(payload, result):
    """Costs of feasible plans: lower is better."""
    return float(result)


CASES = [
    Case(
        name="kl_rows",
        what="KL of 10k pairs of 1000 probabilities",
        sizes=[(100, 1000), (1000, 1000), (10_000, 1000)],
        data=simplexes,
        ours=our("kl"),
        peers={"scipy": scipy_kl},
        quality=far_from(scipy_kl),
        tolerance=1e-12,
        target=1.0,
    ),
    Case(
        name="js_rows",
        what="Jensen-Shannon of 10k pairs of 1000 probabilities",
        sizes=[(100, 1000), (1000, 1000), (10_000, 1000)],
        data=simplexes,
        ours=our("js"),
        peers={"scipy": scipy_js},
        quality=far_from(scipy_js),
        tolerance=1e-12,
        target=1.0,
    ),
    Case(
        name="mutual_information",
        what="mutual information of two columns of codes, n=1M",
        sizes=[(10_000, 16, 4), (100_000, 16, 4), (1_000_000, 64, 16)],
        data=codes,
        ours=our_information,
        peers={"sklearn": sklearn_information},
        quality=far_from(sklearn_information),
        tolerance=1e-10,
        target=2.0,
    ),
    Case(
        name="wasserstein_line",
        what="1-D Wasserstein distance, samples of 1M",
        sizes=[(10_000, 10_000), (100_000, 100_000), (1_000_000, 1_000_000)],
        data=numbers,
        ours=our("wasserstein"),
        peers={"scipy": scipy_line},
        quality=far_from(scipy_line),
        tolerance=1e-9,
        target=2.0,
    ),
    Case(
        name="wasserstein_line_uneven",
        what="1-D Wasserstein distance, samples of 1M and 700k",
        sizes=[(10_000, 7000), (100_000, 70_000), (1_000_000, 700_000)],
        data=numbers,
        ours=our("wasserstein"),
        peers={"scipy": scipy_line},
        quality=far_from(scipy_line),
        tolerance=1e-9,
        target=1.0,
    ),
    Case(
        name="wasserstein_cloud",
        what="Wasserstein distance of two samples of 200 points in 3-D",
        sizes=[(20, 3), (60, 3), (200, 3)],
        data=clouds,
        ours=our("wasserstein"),
        peers={"scipy": scipy_cloud},
        quality=value,
        tolerance=1e-8,
        target=2.0,
        rounds=3,
    ),
    Case(
        name="wasserstein_weighted",
        what="Wasserstein distance of two weighted clouds of 150 points in 3-D, LP",
        sizes=[(20, 3), (60, 3), (150, 3)],
        data=weighed,
        ours=our("wasserstein"),
        peers={"scipy": scipy_cloud},
        quality=value,
        tolerance=1e-8,
        target=1.0,
        rounds=3,
    ),
    Case(
        name="sinkhorn",
        what="the same by Sinkhorn, within 1% of the exact cost, 300 points",
        sizes=[(60, 3), (150, 3), (300, 3)],
        data=weighed,
        ours=our("wasserstein", method="sinkhorn", reg=0.02, tol=1e-4),
        peers={"scipy": scipy_cloud},
        quality=value,
        tolerance=0.02,
        target=2.0,
        rounds=3,
    ),
]
