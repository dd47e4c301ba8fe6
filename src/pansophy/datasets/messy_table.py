"""A synthetic table with every trouble that real ones have, and a known answer."""

import numpy as np

from ..core.random import make_rng
from ..params import check_count

PLANS = np.array(["basic", "família", "プレミアム"])
TOWNS = [f"Saint-Étienne {t}" if t % 3 else f'O\'Brien "{t}"' for t in range(40)]
STEPS = np.array(["low", "medium", "high"])
GOOD = np.array(["great", "friendly", "quick", "helpful", "love it", "fair price"])
BAD = np.array(["slow", "rude", "broken", "never again", "refund", "waited hours"])
FILLER = np.array(
    ["the service", "my order", "delivery", "this shop", "again", "support", "today",
     "a colleague", "the parcel", "on Monday", "with the app", "for the price"]
)  # fmt: skip


def make_messy(n=1000, seed=0, *, truth=False):
    """Generate customers of a shop and whether they quit, as an Arrow table.

    Column names hold spaces, commas, accents, other scripts, HTML and a spreadsheet
    formula; values hold quotes, newlines, missing ones (some missing because of the
    answer), prices as "$1,234.50", percentages, dates as text and as dates, free text,
    an ordinal, an angle, 40 towns, an id, a constant and an empty column. The answer
    "quit?" depends on age, income, plan, town, tenure, the month of the last visit,
    satisfaction, wind direction, price and the words of the review.

    Parameters
    ----------
    n : int
    seed : int, Generator or None
    truth : bool
        Whether to return the true probability of "yes" of each row as well.

    Examples
    --------
    >>> from pansophy.datasets import make_messy
    >>> table = make_messy(50)
    >>> table.column("quit?").unique().to_pylist()
    ['no', 'yes']
    """
    import pyarrow as pa

    n = check_count("n", n)
    rng = make_rng(seed)
    age = np.clip(rng.normal(42, 14, n), 18, 90).round()
    income = rng.lognormal(10, 0.5, n).round(2)
    plan = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    step = rng.choice(3, n)
    town = np.minimum(rng.geometric(0.08, n) - 1, 39)
    begun = np.datetime64("2019-01-01") + rng.integers(0, 1800, n)
    seen = np.datetime64("2024-01-01T00:00:00") + rng.integers(0, 366 * 86400, n)
    wind = rng.integers(0, 360, n)
    price = rng.gamma(2, 900, n).round(2)
    percent = rng.integers(0, 60, n)
    mood = rng.normal(size=n)
    month = seen.astype("M8[M]").astype(int) % 12
    years = (np.datetime64("2024-01-01") - begun).astype(int) / 365.25
    effect = np.sin(np.arange(40) * 2.3)
    score = (
        -0.6
        - 0.03 * (age - 42)
        + 0.5 * (np.log(income) - 10)
        + np.array([0.4, 0.0, -0.8])[plan]
        + 0.9 * effect[town]
        - 0.25 * (years - 2.5)
        + 0.6 * np.cos(2 * np.pi * month / 12)
        - 0.7 * (step - 1)
        + 0.4 * np.sin(np.deg2rad(wind))
        + 0.0004 * (price - 1800)
        - 1.2 * mood
    )
    p = 1 / (1 + np.exp(-score))
    quits = rng.random(n) < p
    missing_rates = [np.full(n, 0.08), 0.03 + 0.15 * quits, np.full(n, 0.05)]
    gone = rng.random((3, n)) < np.array(missing_rates)
    table = pa.table({
        "customer": [f"K-{i:07d}" for i in rng.permutation(n)],
        "age": pa.array(age.astype(int), mask=gone[0]),
        "größe_cm": rng.normal(172, 9, n).round(1),
        "収入": pa.array(income, mask=gone[1]),
        "<b>plan</b>": pa.array(PLANS[plan].tolist(), mask=gone[2]),
        "=SUM(A1:A9)": rng.normal(size=n).round(3),
        'town, "Ort"': [TOWNS[t] for t in town],
        "since": [f"{d.day:02d}.{d.month:02d}.{d.year}" for d in begun.tolist()],
        "last visit": seen.astype("M8[s]"),
        "satisfaction": STEPS[step].tolist(),
        "wind direction": wind,
        "price": [f"${v:,.2f}" for v in price],
        "discount": [f"{v}%" for v in percent],
        "newsletter": np.where(rng.random(n) < 0.4, "yes", "no").tolist(),
        "review": _review_texts(mood, rng),
        "country": ["FR"] * n,
        "empty": pa.nulls(n, pa.string()),
        "quit?": np.where(quits, "yes", "no").tolist(),
    })  # fmt: skip
    return (table, p) if truth else table


def _review_texts(mood, rng) -> list[str | None]:
    """Review texts whose words depend on the mood; some with quotes and newlines."""
    n = len(mood)
    share = 1 / (1 + np.exp(-1.5 * mood))
    filler = FILLER[rng.integers(0, len(FILLER), (n, 6))]
    picks = rng.integers(0, 6, (n, 4))
    kinds = rng.random((n, 4))
    marks = np.array([" ", ", ", "\n", '. "Really", '])[rng.integers(0, 4, n)]
    silent = rng.random(n) < 0.03
    texts: list[str | None] = []
    for i in range(n):
        opinions = np.where(kinds[i] < share[i], GOOD[picks[i]], BAD[picks[i]])
        phrases = [*filler[i][:3], *opinions[:2], *filler[i][3:], *opinions[2:]]
        texts.append(None if silent[i] else marks[i].join(phrases))
    return texts
