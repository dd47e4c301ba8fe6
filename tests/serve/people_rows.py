"""Rows of people that the tests of the service send."""

from tests.compare.table_models import people

INPUTS = ["age", "pay", "city", "day", "note"]
TABLE = people()
ROW = {"age": 41.5, "pay": 3, "city": "Bonn", "day": "2024-05-01", "note": "late again"}


def rows_of(table):
    """The rows of a table as a request has them."""
    out = []
    for row in table.to_pylist():
        row["day"] = row["day"].isoformat()
        out.append(row)
    return out
