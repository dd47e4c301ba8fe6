r"""Made-up tables: the prior of the prior-fitted network, drawn in batches on a device.

A network that sees tables drawn from a prior over data-generating processes, and learns
to predict their new rows, approximates the posterior predictive distribution of that
prior [1]_: a table of yours is answered as if it came from the same prior. So the prior
is the model. It is made of

1. *causes*: normal, uniform, clustered or heavy-tailed numbers, sometimes correlated;
2. *layers* on top of them, each a random net with sparse weights and one of thirteen
   activations a node, random oblivious trees, or random smooth functions; every node
   gets noise, and *the columns are nodes* of any layer, so columns are causes and
   effects of each other [2]_;
3. *a target*: a sum of trees, a sparse linear function with interactions, a small net,
   a smooth function, distances to prototypes, hidden nodes, or nothing; of the columns
   or of hidden nodes, with noise from none to four times the signal, since most real
   tables are weak signals and a few are exact;
4. *classes* by cuts of one score or by the largest of several, *numbers* by warping;
5. *what real columns look like*: codes with an order or without one (before the target
   is made, so that it depends on the code, or after), skewed, rounded, irrelevant and
   doubled columns, values missing by chance or by their size, rows that come twice.

All tables of a batch share sizes and the structure (which layers, which target), which
is drawn on the host; their numbers are drawn on the device.

Cost: O(B N d) with a factor of some dozens; milliseconds for 32,768 rows on a GPU.

References
----------
.. [1] Müller et al. (2022). Transformers can do Bayesian inference. ICLR.
.. [2] Hollmann et al. (2023). TabPFN: a transformer that solves small tabular
   classification problems in a second. ICLR.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

CLASS_COUNTS = (2, 2, 2, 2, 2, 3, 3, 4, 5, 6, 8, 10)


class TableBatch(NamedTuple):
    """B tables of N rows and d columns with their targets."""

    X: Tensor  # (B, N, d), NaN where missing
    y: Tensor  # (B, N): whole numbers for classes
    n_classes: int  # 0 for numbers


class RandomSource:
    """Random structure from the host, random numbers from the device, by one seed."""

    def __init__(self, seed: int, device):
        self.host = np.random.default_rng(seed)
        self.device = torch.device(device)
        self.generator = torch.Generator(self.device)
        self.generator.manual_seed(seed)

    def normal(self, *shape) -> Tensor:
        return torch.randn(shape, generator=self.generator, device=self.device)

    def uniform(self, *shape) -> Tensor:
        return torch.rand(shape, generator=self.generator, device=self.device)

    def integers(self, high: int, *shape) -> Tensor:
        """Whole numbers from 0 to below `high`."""
        return torch.randint(high, shape, generator=self.generator, device=self.device)

    def permutations(self, B: int, n: int) -> Tensor:
        """A permutation of n for each of B tables."""
        return torch.argsort(self.uniform(B, n), dim=1)

    def chance(self, probability: float) -> bool:
        return bool(self.host.random() < probability)

    def pick(self, options):
        return options[self.host.integers(len(options))]

    def log_uniform(self, low: float, high: float) -> float:
        return float(np.exp(self.host.uniform(math.log(low), math.log(high))))

    def log_normal(self, mean: float, deviation: float) -> float:
        return float(np.exp(mean + deviation * self.host.standard_normal()))


def standardise_tables(x: Tensor) -> Tensor:
    """Columns of tables (B, N, d) with mean 0 and deviation 1."""
    centred = x - x.mean(1, keepdim=True)
    return centred / (centred.square().mean(1, keepdim=True).sqrt() + 1e-5)


def _take_columns_of(x: Tensor, index: Tensor) -> Tensor:
    """Columns (B, k) of tables (B, N, d)."""
    return torch.gather(x, 2, index[:, None].expand(-1, x.shape[1], -1))


# 1. Causes


def draw_causes(source: RandomSource, B: int, N: int, k: int) -> Tensor:
    """Independent or clustered causes (B, N, k)."""
    kind = source.host.random()
    x = source.normal(B, N, k)
    if kind < 0.25:
        x = (2 * source.uniform(B, N, k) - 1) * math.sqrt(3)
    elif kind < 0.5:
        clusters = int(source.host.integers(2, 9))
        centres = 1.5 * source.normal(B, clusters, k)
        member = source.integers(clusters, B, N, 1).expand(-1, -1, k)
        width = float(source.host.uniform(0.1, 0.9))
        x = width * x + torch.gather(centres, 1, member)
    elif kind < 0.6:
        x = x / (source.uniform(B, N, 1) + 0.05)  # heavy tails, row by row
        x = x.clamp(-30, 30)
    if source.chance(0.3):
        x = x + 0.5 * x[..., :1]
    return standardise_tables(x)


# 2. Layers

ACTIVATIONS = (
    torch.tanh,
    torch.relu,
    torch.sin,
    torch.sign,
    torch.abs,
    lambda x: x * x / 2,
    lambda x: x,
    lambda x: x,
    lambda x: torch.round(2 * x) / 2,
    lambda x: torch.exp(-x * x),
    functional.softplus,
    lambda x: (x > 0).float(),
    lambda x: torch.sin(3 * x),
)


def _net_layer(source: RandomSource, x: Tensor, h: int) -> Tensor:
    """h nodes of a random layer with sparse weights and three activations."""
    B, _, k = x.shape
    W = source.normal(B, k, h) / math.sqrt(k)
    share = max(source.pick((0.1, 0.2, 0.4, 1.0)), min(1.5 / k, 1.0))
    present = (source.uniform(B, k, h) < share).float()
    W = W * present / math.sqrt(share)
    if source.chance(0.4):  # some inputs matter more
        W = W * torch.exp(0.8 * source.normal(B, k, 1))
    z = torch.bmm(x, W) * source.log_normal(0, 0.5) + 0.5 * source.normal(B, 1, h)
    chosen = source.host.integers(len(ACTIVATIONS), size=3)
    part = source.integers(3, h)
    return sum(ACTIVATIONS[a](z) * (part == i) for i, a in enumerate(chosen))


def tree_layer(source: RandomSource, x: Tensor, h: int, depth: int) -> Tensor:
    """h random oblivious trees; thresholds are values of random rows."""
    B, N, k = x.shape
    value = _take_columns_of(x, source.integers(k, B, h * depth))
    row = source.integers(N, B, 1, h * depth)
    bits = (value > torch.gather(value, 1, row)).view(B, N, h, depth)
    powers = 2 ** torch.arange(depth, device=x.device)
    leaf = (bits * powers).sum(-1)
    heights = source.normal(B, 2**depth, h)
    return torch.gather(heights, 1, leaf)


def _smooth_layer(source: RandomSource, x: Tensor, h: int) -> Tensor:
    """h draws of a Gaussian process with few relevant inputs, by random waves."""
    B, _, k = x.shape
    waves = 64
    relevance = (source.uniform(B, k, 1) < max(2.0 / k, 0.3)).float()
    relevance = relevance * torch.exp(0.5 * source.normal(B, k, 1))
    W = source.normal(B, k, waves) * relevance * source.log_uniform(0.3, 2.5)
    phase = 2 * math.pi * source.uniform(B, 1, waves)
    amplitude = source.normal(B, waves, h) * math.sqrt(2 / waves)
    return torch.bmm(torch.cos(torch.bmm(x, W) + phase), amplitude)


def _product_layer(source: RandomSource, x: Tensor, h: int) -> Tensor:
    """h products of two nodes."""
    B, _, k = x.shape
    left = _take_columns_of(x, source.integers(k, B, h))
    return left * _take_columns_of(x, source.integers(k, B, h))


def draw_layer(source: RandomSource, x: Tensor, h: int) -> Tensor:
    """One random layer of h nodes, with noise, standardised."""
    kind = source.host.random()
    if kind < 0.2:
        nodes = tree_layer(source, x, h, int(source.host.integers(1, 6)))
    elif kind < 0.3:
        nodes = _smooth_layer(source, x, h)
    elif kind < 0.36:
        nodes = _product_layer(source, x, h)
    else:
        nodes = _net_layer(source, x, h)
    nodes = standardise_tables(nodes)
    noise = source.log_normal(-2.5, 1.2)
    return standardise_tables(nodes + noise * source.normal(*nodes.shape))


def _draw_nodes(source: RandomSource, B: int, N: int, d: int) -> Tensor:
    """Nodes (B, N, at least d) of a random layered graph."""
    h = int(source.pick((d + 4, 2 * d + 8)))
    x = draw_causes(source, B, N, int(source.host.integers(1, h + 1)))
    nodes = [x]
    for _ in range(source.pick((0, 1, 1, 2, 2, 3, 4))):
        x = draw_layer(source, x, h)
        nodes.append(x)
    pool = torch.cat(nodes if source.chance(0.7) else nodes[-1:], 2)
    if pool.shape[2] < d:
        pool = torch.cat([pool, source.normal(B, N, d - pool.shape[2])], 2)
    return pool


# 3. Target


def _draw_scores(source: RandomSource, Z: Tensor, pool: Tensor, m: int) -> Tensor:
    """m standardised scores (B, N, m) of the columns Z, without noise."""
    B, N, k = Z.shape
    kind = source.host.random()
    if kind < 0.27:  # a sum of trees
        trees = source.pick((1, 3, 8, 24))
        depth = source.pick((1, 2, 3, 4, 6))
        t = tree_layer(source, Z, trees * m, depth).view(B, N, m, trees).sum(-1)
    elif kind < 0.47:  # linear, often of few columns, with interactions
        share = source.pick((0.1, 0.3, 1.0))
        W = source.normal(B, k, m)
        W = W * (source.uniform(B, k, m) < max(share, min(1.0, 1 / k))).float()
        t = torch.bmm(Z, W)
        if source.chance(0.3):
            t = t + 0.7 * torch.bmm(Z * Z.roll(1, 2), W.roll(1, 1))
    elif kind < 0.68:  # a small net
        t = Z
        for width in source.pick(((16,), (16,), (24, 16))):
            t = standardise_tables(_net_layer(source, t, width))
        t = torch.bmm(t, source.normal(B, t.shape[2], m))
    elif kind < 0.76:  # smooth
        t = _smooth_layer(source, Z, m)
    elif kind < 0.84:  # the nearest prototype
        prototypes = int(source.pick((1, 2, 4)))
        weight = (source.uniform(B, 1, k) < max(3.0 / k, 0.4)).float()
        V = (Z * weight).contiguous()
        row = source.integers(N, B, m * prototypes, 1).expand(-1, -1, k)
        distance = torch.cdist(V, torch.gather(V, 1, row))
        t = -distance.view(B, N, m, prototypes).min(-1)[0]
    elif kind < 0.97:  # hidden nodes
        t = _take_columns_of(pool, source.integers(pool.shape[2], B, m))
    else:  # nothing that could be learnt
        t = source.normal(B, N, m)
    return standardise_tables(t)


def draw_noise(source: RandomSource) -> float:
    """Deviation of the noise of a standardised score."""
    return 0.0 if source.chance(0.06) else source.log_uniform(0.01, 4.0)


def _draw_classes(source: RandomSource, Z: Tensor, pool: Tensor, c: int) -> Tensor:
    """Class of each row: cuts of one score, or the largest of c scores."""
    B, N, _ = Z.shape
    has_several_scores = c > 2 and source.chance(0.65)
    t = _draw_scores(source, Z, pool, c if has_several_scores else 1)
    t = t + draw_noise(source) * source.normal(*t.shape)
    if has_several_scores:
        offset = source.pick((0.0, 0.5, 1.0)) * source.normal(B, 1, c)
        y = (t + offset).argmax(-1)
    else:
        if source.chance(0.5):  # at values of random rows: classes of all sizes
            cuts = torch.gather(t, 1, source.integers(N, B, c - 1, 1))
        else:
            shares = np.sort(source.host.uniform(0.03, 0.97, c - 1)) * (N - 1)
            ordered = t[..., 0].sort(1)[0]
            places = [round(share) for share in shares]
            cuts = torch.stack([ordered[:, i] for i in places], 1)[..., None]
        y = (t > cuts.transpose(1, 2)).sum(-1)
    if has_several_scores or source.chance(0.5):
        y = torch.gather(source.permutations(B, c), 1, y)
    if source.chance(0.15):  # wrong labels
        wrong = source.uniform(B, N) < 0.3 * source.host.random()
        y = torch.where(wrong, source.integers(c, B, N), y)
    return y


def _draw_numbers(source: RandomSource, Z: Tensor, pool: Tensor) -> Tensor:
    """Number of each row: a score with noise, warped."""
    t = _draw_scores(source, Z, pool, 1)
    noise = source.normal(*t.shape)
    if source.chance(0.15):  # heavy tails
        noise = noise / (source.uniform(*t.shape) + 0.1).sqrt()
    scale = draw_noise(source)
    if source.chance(0.2):  # spread that grows with the mean
        scale = scale * torch.exp(0.7 * t)
    t = standardise_tables(t + scale * noise)[..., 0]
    kind = source.host.random()
    if kind < 0.5:
        return t
    if kind < 0.68:
        return torch.exp(source.log_uniform(0.2, 1.5) * t.clamp(-5, 5))
    if kind < 0.76:
        return t.sign() * t.abs() ** source.log_uniform(0.5, 2.5)
    if kind < 0.84:  # whole numbers
        return torch.round(t * source.log_uniform(0.7, 10))
    if kind < 0.92:  # many rows at the lowest value
        return t.clamp(min=float(source.host.uniform(-1.5, 0.5)))
    return t.argsort(1).argsort(1).float()  # ranks


# 5. Columns as they are in real tables


def _code_columns(source: RandomSource, X: Tensor) -> tuple[Tensor, Tensor]:
    """Columns cut into levels: codes as they are written, and what the levels mean."""
    B, _, d = X.shape
    q = int(source.pick((2, 2, 2, 3, 4, 5, 8, 12, 20)))
    level = (X[..., None] > source.normal(B, 1, d, q - 1)).sum(-1)
    meaning = level.float()
    if source.chance(0.5):  # levels without an order: each has a value of its own
        values = source.normal(B, q, d)
        meaning = torch.gather(values, 1, level)
    if source.chance(0.6):
        code = torch.argsort(source.uniform(B, q, d), dim=1)
        level = torch.gather(code, 1, level)
    return level.float(), standardise_tables(meaning)


def _draw_columns(source: RandomSource, pool: Tensor, d: int) -> tuple[Tensor, Tensor]:
    """Columns as they are written, and as the target depends on them."""
    B = pool.shape[0]
    chosen = source.permutations(B, pool.shape[2])[:, :d]
    meaning = _take_columns_of(pool, chosen)
    X = meaning
    if source.chance(0.65):
        code, of_code = _code_columns(source, X)
        mask = source.uniform(B, 1, d) < source.host.random() ** 0.7
        X = torch.where(mask, code, X)
        if source.chance(0.6):  # the target depends on the code
            meaning = torch.where(mask, of_code, meaning)
    if source.chance(0.3):  # irrelevant columns
        mask = source.uniform(B, 1, d) < 0.6 * source.host.random()
        X = torch.where(mask, source.normal(*X.shape), X)
    if source.chance(0.1):  # nearly the same column again
        mask = source.uniform(B, 1, d) < 0.3
        noise = source.log_uniform(0.001, 0.5) * source.normal(*X.shape)
        X = torch.where(mask, X.roll(1, 2) + noise, X)
    return X, meaning


def distort_columns(source: RandomSource, X: Tensor) -> Tensor:
    """Skewed, rounded and missing values."""
    B, N, d = X.shape
    skewed = source.uniform(B, 1, d) < 0.15
    X = torch.where(skewed, torch.exp(1.3 * X.clamp(-3, 3)), X)
    if source.chance(0.3):
        mask = source.uniform(B, 1, d) < 0.4
        digits = source.pick((1.0, 2.0, 5.0, 10.0))
        X = torch.where(mask, torch.round(X * digits), X)
    if source.chance(0.3):
        mask = source.uniform(B, 1, d) < 0.4
        missing = source.uniform(B, N, d) < 0.4 * source.host.random()
        if source.chance(0.3):  # large values are missing more often
            missing = missing & (standardise_tables(X) > source.normal(B, 1, d))
        X = torch.where(mask & missing, math.nan, X)
    return X


def with_repeated_rows(
    source: RandomSource, X: Tensor, y: Tensor
) -> tuple[Tensor, Tensor]:
    """Some rows are other rows again, at times with small changes."""
    B, N, d = X.shape
    is_repeated = source.uniform(B, N) < source.host.uniform(0.05, 0.7)
    source_rows = torch.where(
        is_repeated, source.integers(N, B, N), torch.arange(N, device=X.device)
    )
    X = torch.gather(X, 1, source_rows[..., None].expand(-1, -1, d))
    y = torch.gather(y, 1, source_rows)
    if source.chance(0.5):
        X = X + source.log_uniform(0.001, 0.1) * source.normal(B, N, d)
    return X, y


def draw_tables(
    source: RandomSource, B: int, N: int, d: int, numbers: bool = False
) -> TableBatch:
    """B tables of N rows and d columns from the prior.

    Examples
    --------
    >>> from pansophy.prior_fitted.prior import RandomSource, draw_tables
    >>> tables = draw_tables(RandomSource(0, "cpu"), B=3, N=50, d=4)
    >>> tables.X.shape, tables.y.shape
    (torch.Size([3, 50, 4]), torch.Size([3, 50]))
    """
    pool = _draw_nodes(source, B, N, d)
    X, meaning = _draw_columns(source, pool, d)
    Z = meaning if source.chance(0.65) else pool
    if numbers:
        n_classes = 0
        y = _draw_numbers(source, Z, pool)
    else:
        n_classes = source.pick(CLASS_COUNTS)
        y = _draw_classes(source, Z, pool, n_classes)
    X = distort_columns(source, X)
    if source.chance(0.12):
        X, y = with_repeated_rows(source, X, y)
    return TableBatch(X, y, n_classes)
