"""Bundled tables and generators of synthetic ones.

Nothing is downloaded: `customers` is a file in the package, made by `make_customers`;
`weather` is 14 rows long; the others are those that scikit-learn carries.
"""

from ..scikit_learn import share_names
from .bundled import Dataset, load, load_weather, names, path
from .messy_table import make_messy
from .synthetic_ratings import make_ratings
from .synthetic_tables import make_customers

__all__ = [
    "Dataset",
    "load",
    "load_weather",
    "make_customers",
    "make_messy",
    "make_ratings",
    "names",
    "path",
]

__getattr__, __dir__ = share_names(__name__)
