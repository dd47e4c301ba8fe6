"""The target of a table as classes or numbers, for diagnostics that use both."""

from dataclasses import dataclass, replace

import numpy as np

FEW = 20  # numbers with at most this many values, all whole, are treated as classes


@dataclass(frozen=True, eq=False)
class TargetColumn:
    """One target: y (n,) of class codes, -1 where missing, or of numbers with NaN."""

    name: str
    kind: str  # "class" or "number"
    y: np.ndarray
    classes: tuple[str, ...] = ()  # in words

    @property
    def k(self) -> int:
        return len(self.classes)

    @property
    def known(self) -> np.ndarray:
        return self.y >= 0 if self.kind == "class" else ~np.isnan(self.y)

    @property
    def varies(self) -> bool:
        y = self.y[self.known]
        return len(y) > 0 and bool(np.any(y != y[0]))

    def take(self, rows) -> "TargetColumn":
        return replace(self, y=self.y[rows])

    def indicators(self):
        """Pairs (value as text, mask of its rows): classes, or the modal number."""
        if self.kind == "class":
            for k, word in enumerate(self.classes[:50]):
                yield word, self.y == k
            return
        values, counts = np.unique(self.y[self.known], return_counts=True)
        top = values[counts.argmax()]
        if counts.max() >= 5:
            yield f"{top:.6g}", self.y == top

    def describe(self, value) -> str:
        """Description of a quantity of `numbers`."""
        if value:
            return f"the share of {value} in {self.name!r}"
        return f"the mean of {self.name!r}"

    def numbers(self, rows):
        """Pairs (class as text, 0/1 indicator) of the classes, or (None, y)."""
        if self.kind == "number":
            yield None, self.y[rows]
            return
        y = self.y[rows]
        for k in range(1 if self.k == 2 else 0, min(self.k, 20)):
            yield self.classes[k], (y == k).astype(float)


def target_columns_of(view, target, task=None) -> list[TargetColumn]:
    """The targets of a view; a name that is not there raises with the nearest one."""
    wanted = [target] if isinstance(target, str) else list(target)
    return [target_column_of(view[name], task) for name in wanted]


def target_column_of(c, task=None) -> TargetColumn:
    """A column as a target of classes or numbers."""
    if c.categorical:
        return TargetColumn(c.name, "class", c.codes, tuple(repr(v) for v in c.levels))
    x = c.numbers
    known = ~np.isnan(x)
    values = np.unique(x[known])
    is_class_target = c.kind == "yes/no" or (
        len(values) <= FEW
        and c.kind == "number"
        and bool(np.all(values == values.round()))
    )
    if task in ("class", "classification", "multilabel") or (
        task is None and is_class_target
    ):
        y = np.full(len(x), -1)
        y[known] = np.searchsorted(values, x[known])
        return TargetColumn(c.name, "class", y, tuple(c.show(v) for v in values))
    return TargetColumn(c.name, "number", x)
