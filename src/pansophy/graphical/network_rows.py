"""Rows of a network: read from any table, scored, filled in, written back.

Inside, a row is a vector of numbers: codes of discrete variables, values of
continuous ones, NaN where missing. Rows that miss the same columns share one plan:

    log p(x_o) and P(x_m | x_o)    o observed, m missing                         (1)

for discrete networks by one compiled run over all rows of the pattern, for Gaussian
ones through the joint Normal, for mixed ones row by row.

Shapes    A (n, d)
"""

from collections.abc import Mapping

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..core.labels import absent
from ..params import ParameterError
from .gaussian_inference import joint_normal_of, query_mixed_network
from .table_encoding import (
    MAX_INTEGER_STATES,
    column_reader,
    encode_column,
    encode_table,
    is_categorical,
)
from .variables import VariableSpace, check_states, suggest_name

VARIABLE_KINDS = ("auto", "discrete", "gaussian")


def check_table_columns(model, X, *, reset: bool) -> dict:
    """The columns of a table by name, checked as the first (reset) or a later one."""
    if not reset:
        check_is_fitted(model)
    framed = isinstance(X, Mapping) or hasattr(X, "columns")
    if framed or hasattr(X, "column_names"):
        names, read = column_reader(X, None, None)
        columns = {name: read(name) for name in names}
        if not columns or not len(next(iter(columns.values()))):
            raise ValueError(
                "the table has 0 rows or 0 columns: a minimum of 1 is needed."
            )
        lengths = {len(column): name for name, column in columns.items()}
        if len(lengths) > 1:
            told = ", ".join(f"{name!r} has {n}" for n, name in lengths.items())
            raise ValueError(f"columns need the same number of rows, but {told}.")
        if reset:
            model.n_features_in_ = len(columns)
            model.feature_names_in_ = np.array(names, dtype=object)
            return columns
        known = model.space_.names
        strange = [name for name in names if name not in known]
        if strange:
            hint = suggest_name(strange[0], known, "variables")
            raise ValueError(f"no variable is called {strange[0]!r}{hint}.")
        return columns
    if reset and hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    checks: dict = {"dtype": None, "ensure_all_finite": "allow-nan"}
    if reset:
        X = validate_data(model, X, **checks)
    else:  # columns of an array go by their place, whatever names the fit had
        X = model._check_width(check_array(X, estimator=model, **checks))
    d = X.shape[1]
    names = [f"x{j}" for j in range(d)] if reset else model.space_.names[:d]
    return {name: X[:, j] for j, name in enumerate(names)}


def observed_rows(model, X) -> np.ndarray:
    """Rows A of a table, without the columns that are not seen at run time."""
    A = encode_rows(check_table_columns(model, X, reset=False), model.space)
    if model.evidence is not None:
        hidden = set(range(A.shape[1])) - set(model.space.numbers(model.evidence))
        A[:, sorted(hidden)] = np.nan
    return A


def fill_missing(model, engine, X):
    """The table with missing values at their likeliest state, or mean."""
    A = observed_rows(model, X)
    asked = np.flatnonzero(np.isnan(A).any(axis=0)).tolist()
    discrete = [j for j in asked if model.space.is_discrete(j)]
    out = A.copy()
    for j, table in row_marginals(model, engine, A, discrete).items():
        out[:, j] = table.argmax(axis=1)
    rest = [j for j in asked if j not in discrete]
    for j, mean in row_means(model, engine, A, rest).items():
        out[:, j] = mean
    return as_table_like(decode_rows(out, model.space), X)


def row_probabilities(model, engine, X, variables=None) -> dict:
    """P(variable | the rest of the row) by name: arrays (n, states)."""
    A, space = observed_rows(model, X), model.space
    if variables is None:
        asked = np.flatnonzero(np.isnan(A).any(axis=0)).tolist()
        asked = [j for j in asked if space.is_discrete(j)]
    else:
        asked = list(space.numbers(variables))
        wrong = [space.names[j] for j in asked if not space.is_discrete(j)]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is continuous and has no states.")
    found = row_marginals(model, engine, A, asked)
    return {space.names[j]: found[j] for j in asked}


def is_continuous_column(column) -> bool:
    """Whether a column holds numbers that are no states: fractions, or many values."""
    if is_categorical(column):
        return False
    values = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if values.dtype.kind == "O":
        seen = [v for v in values.tolist() if not absent(v)]
        if not all(isinstance(v, (int, float, np.number)) for v in seen):
            return False
        values = np.array(seen, dtype=np.float64)
    if values.dtype.kind not in "iuf":
        return False
    seen = values[~np.isnan(values)]
    whole = np.isfinite(seen).all() and (seen == np.floor(seen)).all()
    return not whole or len(np.unique(seen)) > MAX_INTEGER_STATES


def encode_training_columns(columns, kinds, states, extra=()):
    """Names and states of the columns and of hidden variables after them, and rows.

    A column of rows is codes with -1 where missing, or numbers with NaN; a hidden
    variable has None.
    """
    for told, what in ((states, "states"), (kinds, "kinds")):
        for name in told if isinstance(told, Mapping) else ():
            if name not in columns and name not in extra:
                hint = suggest_name(name, tuple(columns), "columns")
                raise ValueError(f"{what} names {name!r}, which is no column{hint}.")
    labels, rows = [], []
    for name, column in columns.items():
        kind = kinds.get(name, "auto") if isinstance(kinds, Mapping) else kinds
        if kind not in VARIABLE_KINDS:
            raise ParameterError(
                f"kinds of BayesianNetwork must be 'auto', 'discrete' or 'gaussian', "
                f"got {kind!r} for {name!r}."
            )
        known = check_states(states[name], name) if name in (states or {}) else None
        if known is None and (
            kind == "gaussian" or (kind == "auto" and is_continuous_column(column))
        ):
            labels.append(())
            rows.append(numeric_column(column, name))
            continue
        codes, found = encode_column(column, known, name)
        if not found:
            raise ValueError(
                f"column {name!r} is missing in every row (no sample shows it): give "
                "its states, or leave it out."
            )
        labels.append(found)
        rows.append(codes)
    labels += [check_states(states[name], name) for name in extra]
    return VariableSpace((*columns, *extra), tuple(labels)), rows + [None] * len(extra)


def encode_rows(columns: Mapping, space: VariableSpace) -> np.ndarray:
    """Rows A of a table; a column that it lacks is missing."""
    n = max((len(c) for c in columns.values()), default=0)
    A = np.full((n, len(space.names)), np.nan)
    known = [j for j, name in enumerate(space.names) if name in columns]
    for j in known:
        name = space.names[j]
        if not space.is_discrete(j):
            A[:, j] = numeric_column(columns[name], name)
            continue
        alone = VariableSpace((name,), (space.states[j],))
        codes = encode_table({name: columns[name]}, alone)[0][:, 0]
        A[:, j] = codes
        A[codes < 0, j] = np.nan
    return A


def numeric_column(column, name) -> np.ndarray:
    """A column of numbers, NaN where missing; infinities are refused."""
    values = column.to_numpy() if hasattr(column, "to_numpy") else column
    try:
        out = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"column {name!r} must hold numbers.") from None
    if np.isinf(out).any():
        raise ValueError(f"column {name!r} contains infinity.")
    return out


def decode_rows(A, space: VariableSpace) -> dict:
    """Columns of labels and numbers; None or NaN where missing."""
    out = {}
    for j, name in enumerate(space.names):
        if not space.is_discrete(j):
            out[name] = A[:, j]
            continue
        states = space.states[j]
        gone = np.isnan(A[:, j])
        codes = np.where(gone, 0, A[:, j]).astype(np.int64)
        plain = np.array(states)
        if plain.dtype.kind not in "biuf" or not has_no_text(states):
            plain = np.empty(len(states), dtype=object)
            plain[:] = states
        column = plain[codes]
        if gone.any():
            column = column.astype(float if plain.dtype.kind in "biuf" else object)
            column[gone] = np.nan if plain.dtype.kind in "biuf" else None
        out[name] = column
    return out


def has_no_text(states) -> bool:
    """Whether labels are numbers (or all booleans) and not a mixture with words."""
    return not any(isinstance(s, str) for s in states)


def as_table_like(columns: dict, like):
    """Columns as the kind of table they came in: frame, dict or array."""
    if isinstance(like, Mapping):
        return columns
    if hasattr(like, "columns") or hasattr(like, "column_names"):
        import narwhals as nw

        frame = nw.from_native(like, eager_only=True, pass_through=True)
        if frame is not like:
            return as_frame_like(columns, frame)
    kinds = {c.dtype.kind for c in columns.values()}
    if "O" in kinds:
        out = np.empty((len(next(iter(columns.values()))), len(columns)), dtype=object)
        for j, c in enumerate(columns.values()):
            out[:, j] = c
        return out
    return np.column_stack(list(columns.values()))


def as_frame_like(columns: dict, like):
    """Columns as a frame with the labels, the types and the index of another one."""
    import narwhals as nw

    labels = {str(c): c for c in like.columns if str(c) in columns}
    made = nw.from_dict(columns, backend=like.implementation)
    made = made.rename({name: c for name, c in labels.items() if name != c})
    have, want = made.schema, like.schema
    same = [c for c in labels.values() if is_castable(have[c], want[c])]
    out, model = made.to_native(), like.to_native()
    if hasattr(model, "astype"):  # pandas: categories and their order are kept
        return out.astype({c: model[c].dtype for c in same}).set_index(model.index)
    return made.with_columns(nw.col(c).cast(want[c]) for c in same).to_native()


def is_castable(made, wanted) -> bool:
    """Whether a column can be given the type it had in another frame."""
    if wanted.is_integer():
        return made.is_integer()
    if wanted.is_numeric():
        return made.is_numeric()
    word = type(wanted).__name__
    if word in ("Categorical", "Enum"):
        return True
    return type(made).__name__ == word and word in ("String", "Boolean")


def missing_row_patterns(A):
    """Pairs (which columns are missing, rows with this pattern)."""
    gone = np.isnan(A)
    kinds, which = np.unique(gone, axis=0, return_inverse=True)
    which = which.reshape(-1)
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(len(kinds) + 1))
    for k, kind in enumerate(kinds):
        yield kind, order[ends[k] : ends[k + 1]]


def complete_row_log_prob(model, A) -> np.ndarray:
    """log p of complete rows: a term for each node."""
    total = np.zeros(len(A))
    for i, node in enumerate(model.nodes):
        total += node.log_prob(A[:, i], A[:, list(model.parents[i])])
    return total


def row_log_prob(model, engine, A) -> np.ndarray:
    """log p of what each row shows, eq. (1)."""
    out = np.empty(len(A))
    space = model.space
    for gone, rows in missing_row_patterns(A):
        seen = np.flatnonzero(~gone)
        if not gone.any():
            out[rows] = complete_row_log_prob(model, A[rows])
        elif all(space.is_discrete(j) for j in seen):
            program = engine.plan((), tuple(seen.tolist()), whole_evidence=True)
            out[rows] = program.rows(A[np.ix_(rows, list(program.seen))], [])[1]
        else:
            for r in rows:
                told = {int(j): cell_value(space, j, A[r, j]) for j in seen}
                out[r] = query_mixed_network(model, engine, (), told)[1]
    return out


def cell_value(space, j, value):
    """A code as a whole number, or a value as it is."""
    return int(value) if space.is_discrete(j) else float(value)


def row_marginals(model, engine, A, asked):
    """P(x_j | what the row shows) for discrete j in asked: a dict of (n, size)."""
    space = model.space
    out = {j: np.zeros((len(A), space.sizes[j])) for j in asked}
    for gone, rows in missing_row_patterns(A):
        seen = np.flatnonzero(~gone).tolist()
        for j in set(asked) & set(seen):
            out[j][rows, A[rows, j].astype(np.int64)] = 1.0
        open_ = [j for j in asked if gone[j]]
        if not open_:
            continue
        if all(space.is_discrete(j) for j in seen):
            program = engine.plan_each(tuple(open_), tuple(seen))
            codes = A[np.ix_(rows, list(program.seen))]
            tables, log_z = program.rows(codes, [(j,) for j in open_])
            bad = rows[~(log_z > -np.inf)]
            if len(bad):
                raise ValueError(
                    f"row {bad.min()} has probability 0 under the network."
                )
            ends = np.cumsum([0, *(space.sizes[j] for j in open_)])
            for k, j in enumerate(open_):
                out[j][rows] = tables[:, ends[k] : ends[k + 1]]
            continue
        for r in rows:
            told = {j: cell_value(space, j, A[r, j]) for j in seen}
            for j in open_:
                table = query_mixed_network(model, engine, (j,), told)[0]
                if table is None:
                    raise ValueError(f"row {r} has probability 0 under the network.")
                out[j][r] = table
    return out


def row_means(model, engine, A, asked):
    """E(x_j | what the row shows) for continuous j in asked: a dict of (n,)."""
    space = model.space
    out = {j: A[:, j].copy() for j in asked}
    for gone, rows in missing_row_patterns(A):
        open_ = tuple(j for j in asked if gone[j])
        if not open_:
            continue
        seen = np.flatnonzero(~gone).tolist()
        if not any(space.sizes):
            normal_row_means(model, A, rows, seen, open_, out)
            continue
        for r in rows:
            told = {j: cell_value(space, j, A[r, j]) for j in seen}
            found = query_mixed_network(model, engine, open_, told)[0]
            if found is None:
                raise ValueError(f"row {r} has probability 0 under the network.")
            for k, j in enumerate(open_):
                out[j][r] = found[0] @ found[1][:, k]
    return out


def normal_row_means(model, A, rows, seen, open_, out) -> None:
    """Means of missing values of a Gaussian network, all rows of a pattern at once."""
    normal = joint_normal_of(model)
    S = normal.cov
    gap = A[np.ix_(rows, seen)] - normal.mean[seen]
    gain = np.linalg.lstsq(S[np.ix_(seen, seen)], S[np.ix_(seen, open_)], rcond=None)[0]
    filled = normal.mean[list(open_)] + gap @ gain
    for k, j in enumerate(open_):
        out[j][rows] = filled[:, k]
