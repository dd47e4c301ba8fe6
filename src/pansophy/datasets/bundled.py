"""Bundled tables, found by name."""

from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

SKLEARN = {
    "iris": ("load_iris", "species", "150 irises, 4 measurements, 3 species"),
    "wine": ("load_wine", "cultivar", "178 wines, 13 measurements, 3 cultivars"),
    "breast_cancer": (
        "load_breast_cancer",
        "diagnosis",
        "569 tumours, 30 measurements, malignant or benign",
    ),
    "diabetes": (
        "load_diabetes",
        "progression",
        "442 patients, 10 measurements, progression after a year",
    ),
}
# outlook, temperature, humidity, windy, play
WEATHER = """
Rainy Hot High FALSE no,Rainy Hot High TRUE no,Overcast Hot High FALSE yes,
Sunny Mild High FALSE yes,Sunny Cool Normal FALSE yes,Sunny Cool Normal TRUE no,
Overcast Cool Normal TRUE yes,Rainy Mild High FALSE no,Rainy Cool Normal FALSE yes,
Sunny Mild Normal FALSE yes,Rainy Mild Normal TRUE yes,Overcast Mild High TRUE yes,
Overcast Hot Normal FALSE yes,Sunny Mild High TRUE no
"""
CUSTOMERS = "1000 made-up customers, 11 columns of all kinds, left or stayed"


class Dataset(NamedTuple):
    """An Arrow table, the column to predict, and one line about it."""

    table: Any
    target: str
    about: str


def names() -> list[str]:
    """Names of the bundled tables."""
    return ["customers", *SKLEARN, "weather"]


def path(name="customers") -> Path:
    """Path of the CSV file of a bundled table."""
    if name != "customers":
        raise ValueError(f"Only 'customers' is a file, got {name!r}.")
    return Path(str(resources.files("pansophy.datasets").joinpath("customers.csv")))


def load(name="customers") -> Dataset:
    """Load a bundled table.

    Examples
    --------
    >>> from pansophy.datasets import load
    >>> data = load("customers")
    >>> data.table.shape, data.target
    ((1000, 12), 'left')
    """
    import pyarrow as pa
    from pyarrow import csv

    if name == "customers":
        options = csv.ConvertOptions(strings_can_be_null=True)
        return Dataset(csv.read_csv(path(), convert_options=options), "left", CUSTOMERS)
    if name == "weather":
        return load_weather()
    if name not in SKLEARN:
        raise ValueError(f"name must be one of {', '.join(names())}, got {name!r}.")
    import sklearn.datasets

    loader, target, description = SKLEARN[name]
    data = getattr(sklearn.datasets, loader)()
    columns = {
        str(n).replace(" (cm)", "").replace(" ", "_"): data.data[:, j]
        for j, n in enumerate(data.feature_names)
    }
    y = data.target
    if name != "diabetes":
        y = [str(c) for c in data.target_names[y]]
    return Dataset(pa.table({**columns, target: y}), target, description)


def load_weather() -> Dataset:
    """14 days of weather and whether a game was played: the classic of tree learning.

    Examples
    --------
    >>> from pansophy.datasets import load_weather
    >>> load_weather().table.column_names
    ['Outlook', 'Temp', 'Humidity', 'Windy', 'Play']
    """
    import pyarrow as pa

    names = ["Outlook", "Temp", "Humidity", "Windy", "Play"]
    days = [day.split() for day in WEATHER.split(",")]
    table = pa.table(dict(zip(names, map(list, zip(*days)))))
    return Dataset(table, "Play", "14 days, 4 kinds of weather, played or not")
