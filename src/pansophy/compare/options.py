"""The options of a comparison, each defined once.

`Options` has one field for every option of `compare`. A field carries its rule (a type
of `pansophy.params`), its default, the paragraph of the documentation and the flag of
the command line. All else is derived from the fields:

- the signature and the Parameters section of `compare` (`signature`, `documentation`),
- the flags of `pansophy compare` (`cli.compare_options`) and the command that repeats a
  comparison (`command_line_words`),
- the checks before anything is read (`Options.checked`),
- the settings that a run folder records (`Options.recorded`).

The module imports nothing heavy, since every command is preceded by building the flags
from it: the rules (`option_types`) and the readers of tables are imported on first use.
"""

# ruff: noqa: RUF009 - `option` makes a `dataclasses.field`

from __future__ import annotations

import inspect
import os
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from math import inf
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

if TYPE_CHECKING:
    from ..params import ParameterRule
    from .option_types import (
        Count,
        Dict,
        Flag,
        Folds,
        KeepRule,
        Limit,
        Methods,
        Name,
        Natural,
        SampleSize,
        Task,
        Units,
    )

MAX_ROWS = 1_000_000  # rows beyond which a table is sampled

# panels of the help of the command line
DATA, RUNNING, ANSWER = "Data", "Running", "Answer"


class CommandLineFlag(NamedTuple):
    """Flag of an option on the command line."""

    help: str
    panel: str | None = None
    type: Any = str | None
    name: str = ""  # of the parameter, if it is not that of the option
    declarations: tuple[str, ...] = ()  # e.g. ("--out", "-o"), if not --name
    minimum: int | None = None
    form: str = ""  # "names" a,b; "pairs" a=b; "numbers" a=1,b=2


def option(default, kind, text, flag=None, *, recorded=True, affects_scores=False):
    """A field of `Options`.

    Parameters
    ----------
    default : object
        `MISSING` for an option that must be given.
    kind, text : str
        Type and description in the documentation of `compare`.
    flag : CommandLineFlag or None
    recorded : bool
        Whether a run folder records the value.
    affects_scores : bool
        Whether `results.json` names the value if it is not the default.
    """
    metadata = {
        "kind": kind,
        "text": text,
        "flag": flag,
        "recorded": recorded,
        "affects_scores": affects_scores,
    }
    if default is MISSING:
        return field(metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a comparison; see `compare` for every one of them.

    Examples
    --------
    >>> from pansophy.compare.options import Options
    >>> Options.checked(target="y", folds=3).folds
    3
    >>> Options.checked(target="y", folds=1)
    Traceback (most recent call last):
    ...
    pansophy.params.ParameterError: folds must be a whole number of at least 2, got 1.
    """

    target: Any = option(
        MISSING,
        "str or list of str",
        "The column to predict, or several columns of yes and no. Rows in which it is "
        "missing are left out.",
        CommandLineFlag(
            "Column to predict; again for several labels.",
            DATA,
            list[str],
            declarations=("--target", "-t"),
        ),
    )
    task: Task = option(
        "auto",
        '{"auto", "classification", "ordinal", "regression", "count", "multilabel"}',
        "Inferred from the target by default; ordinal is for classes that are in "
        "order, such as ratings.",
        CommandLineFlag(
            "auto, classification, ordinal (ordered classes), regression, count or "
            "multilabel.",
            DATA,
            str,
        ),
    )
    positive: Any = option(
        None,
        "str, number or None",
        "The positive one of two classes, which f1, average precision, thresholds and "
        "curves are about; by default 1, true or yes, and of other texts the rarer.",
        CommandLineFlag("The positive one of two classes.", DATA),
        affects_scores=True,
    )
    group: Name | None = option(
        None,
        "str or None",
        "Column whose rows stay in one fold, or several that name it together "
        '("site,patient").',
        CommandLineFlag(
            "Column whose rows stay in one fold; several: `site,patient`.", DATA
        ),
    )
    time: Name | None = option(
        None,
        "str or None",
        "Column along which folds are cut: models are tested on later rows only; "
        '"row order" is the order of the file.',
        CommandLineFlag(
            "Column along which folds are cut; `row order`: the order of the file.",
            DATA,
        ),
    )
    independent: Flag = option(
        False,
        "bool",
        "Whether rows are taken as independent. Otherwise, and where neither group nor "
        "time is given, a column whose values certainly come in several rows each (a "
        "patient with visits) becomes the group, and a date, or an order of the rows, "
        "along which the target certainly follows itself becomes the time.",
        CommandLineFlag(
            "Take rows as independent: look for no people with several rows, nor for "
            "an order in time.",
            DATA,
            bool,
        ),
        affects_scores=True,
    )
    weight: Name | None = option(
        None,
        "str or None",
        "Column that says how often a row counts.",
        CommandLineFlag("Column saying how often a row counts.", DATA),
    )
    counts: Flag | None = option(
        None,
        "bool or None",
        "Whether the weights of a frequency table count rows, so that one of weight 5 "
        "is five rows of their own in folds, tests and intervals. By default if they "
        "are whole numbers; weights that only say how important a row is, such as "
        "those of a survey, are not counts.",
        CommandLineFlag(
            "Whole-number weights count rows, or only weigh them.",
            DATA,
            bool | None,
            declarations=("--counts/--no-counts",),
        ),
        affects_scores=True,
    )
    ignore: Any = option(
        None,
        "list of str or None",
        "Columns to leave out.",
        CommandLineFlag(
            "Columns to leave out, separated by commas.",
            DATA,
            list[str] | None,
            form="names",
        ),
        affects_scores=True,
    )
    roles: Dict | None = option(
        None,
        "dict or None",
        "Column -> role, where the inferred role is wrong.",
        CommandLineFlag(
            "Column and its role, e.g. `zip=category`; may be repeated.",
            DATA,
            list[str] | None,
            name="role",
            form="pairs",
        ),
        affects_scores=True,
    )
    schema: Any = option(
        None,
        "path, Schema or None",
        "Says all of the above, as an earlier run wrote it to `schema.toml`.",
        CommandLineFlag("Schema file, as an earlier run wrote it.", DATA, Path | None),
        affects_scores=True,
    )
    test: Any = option(
        None,
        "path, dataframe or None",
        "A test set, which takes no part in choosing: the ranked methods, fitted on "
        "all other rows, are compared on it as well.",
        CommandLineFlag(
            "A test table: the methods are compared on it too.", DATA, Path | None
        ),
    )
    max_rows: SampleSize | None = option(
        MAX_ROWS,
        "int or None",
        "A larger table is sampled for the comparison; the winner is then fitted on "
        "all rows where its method can read them in batches.",
        CommandLineFlag("A larger table is sampled to compare.", DATA, int, minimum=10),
        affects_scores=True,
    )
    methods: Methods | None = option(
        None,
        "list of str, dict or None",
        "Names of methods, or estimators of your own by name; all that suit by "
        "default. The dummy is always run.",
        CommandLineFlag(
            "Names of methods, separated by commas.",
            RUNNING,
            list[str] | None,
            form="names",
        ),
    )
    exclude: Any = option(
        None,
        "list of str or None",
        "Methods to leave out; all others that suit are run.",
        CommandLineFlag(
            "Methods to leave out, separated by commas.",
            RUNNING,
            list[str] | None,
            form="names",
        ),
        affects_scores=True,
    )
    folds: Folds = option(
        5,
        "int",
        "Folds of one cross-validation.",
        CommandLineFlag("Folds of a cross-validation.", RUNNING, int),
    )
    repeats: Count | None = option(
        None,
        "int or None",
        "Cross-validations with new folds; by default 10 up to 300 rows, 5 up to "
        "20,000, 2 up to 100,000 and 1 beyond.",
        CommandLineFlag("Cross-validations; fewer for more rows.", RUNNING, int | None),
    )
    together: Flag = option(
        False,
        "bool",
        "Whether rows with identical inputs stay in one fold.",
        CommandLineFlag(
            "Keep rows with the very same inputs in one fold.", RUNNING, bool
        ),
        affects_scores=True,
    )
    gap: Natural = option(
        0,
        "int",
        "Rows left out between training and test rows along time.",
        CommandLineFlag(
            "Rows left out before each test part along time.", RUNNING, int
        ),
        affects_scores=True,
    )
    units: Units = option(
        None,
        "{'same', 'new'} or None",
        "With a group and a time whether later rows are of the same groups, predicted "
        "from all rows before them, or of new ones; by default of the same, where "
        "these come at many moments.",
        CommandLineFlag(
            "Whether later rows are of the same groups or of new ones.",
            DATA,
            str | None,
        ),
        affects_scores=True,
    )
    tune: Natural = option(
        0,
        "int",
        "Hyper-parameter settings that each method tries on inner folds, inside every "
        "fit.",
        CommandLineFlag(
            "Settings tried for each method, on inner folds.", RUNNING, int, minimum=0
        ),
    )
    blend: Flag | None = option(
        None,
        "bool or None",
        "Whether the weighted average of the methods that finish is ranked as well; "
        "its weights are chosen on held-out predictions of other folds. By default if "
        "all suitable methods are tried.",
        CommandLineFlag(
            "Rank an average of the methods as well, or not.",
            RUNNING,
            bool | None,
            declarations=("--blend/--no-blend",),
        ),
        affects_scores=True,
    )
    race: Flag | None = option(
        None,
        "bool or None",
        "Whether a method stops after some of the cross-validations when chance can no "
        "longer bring it to the top; it keeps its place in the ranking. By default if "
        "all suitable methods are tried.",
        CommandLineFlag(
            "Stop methods that can no longer come first, or fit all of them to the "
            "end.",
            RUNNING,
            bool | None,
            declarations=("--race/--no-race",),
        ),
        affects_scores=True,
    )
    calibrate: Flag = option(
        False,
        "bool",
        "Whether each classifier is also tried with its probabilities calibrated on "
        "inner folds.",
        CommandLineFlag(
            "Try each classifier with calibrated probabilities too.", RUNNING, bool
        ),
        affects_scores=True,
    )
    metric: Name | None = option(
        None,
        "str or None",
        "The ranking metric; a proper score by default: log loss, rmse, poisson "
        "deviance, or ranked probability score for ordered classes. Names of other "
        "libraries (auc, logloss, neg_log_loss, mse) are understood.",
        CommandLineFlag("What ranks the methods.", ANSWER),
    )
    keep: KeepRule = option(
        "simplest",
        '{"simplest", "best"}',
        "Which of the methods that are tied with the best is fitted on all rows and "
        "kept: the simplest that is as good (the answer says what the top scorer would "
        "be expected to gain), or the top scorer itself.",
        CommandLineFlag(
            "Of the methods tied with the best, keep the simplest or the best.",
            ANSWER,
            str,
        ),
        affects_scores=True,
    )
    by: Name | None = option(
        None,
        "str or None",
        "Column whose groups are compared for fairness of the winner.",
        CommandLineFlag("Column whose groups are compared for fairness.", ANSWER),
    )
    costs: Dict | None = option(
        None,
        "dict or None",
        "Class -> cost of not recognising it (two classes); decides the threshold of "
        "the kept model.",
        CommandLineFlag(
            "Costs of wrong answers, e.g. `yes=5,no=1`.", ANSWER, form="numbers"
        ),
    )
    workers: Natural | None = option(
        None,
        "int or None",
        "Processes that fit, one for each core by default; 0 fits in this process, "
        "where a hanging fit or one that takes too much memory cannot always be "
        "stopped, and an estimator of your own may carry state from one fit to the "
        "next.",
        CommandLineFlag(
            "Fits at the same time; by default one a core.", RUNNING, int | None
        ),
        recorded=False,
    )
    time_limit: Limit = option(
        300.0,
        "float or None",
        "Seconds one fit may take; a method predicted to need more than a fifth of it "
        "is run only if it is named in `methods`.",
        CommandLineFlag("Seconds that one fit may take.", RUNNING, float),
    )
    memory_limit: Limit = option(
        None,
        "float or None",
        "Megabytes one fit may take; by default a share of the free memory.",
        CommandLineFlag("Megabytes that one fit may take.", RUNNING, float | None),
    )
    max_fits: Count | None = option(
        None,
        "int or None",
        "Fits in all; methods whose folds do not all fit into it are not begun.",
        CommandLineFlag("Fits in all.", RUNNING, int | None, minimum=1),
    )
    stop_after: Limit = option(
        None,
        "float or None",
        "Seconds after which the comparison stops, keeping what is done.",
        CommandLineFlag("Seconds after which no fit begins.", RUNNING, float | None),
    )
    cluster: Any = option(
        None,
        "str, dask Client or None",
        "Where to run the fits instead of here.",
        CommandLineFlag("Address of a dask scheduler to run on.", RUNNING),
        recorded=False,
    )
    folder: Any = option(
        None,
        "path or None",
        "The run folder, to which results are written as they come in.",
        CommandLineFlag(
            "Folder for report, results and model.",
            None,
            Path | None,
            name="out",
            declarations=("--out", "-o"),
        ),
        recorded=False,
    )
    resume: Flag = option(
        False,
        "bool",
        "Whether to go on with the run in `folder`.",
        CommandLineFlag("Go on with the run in the folder of --out.", RUNNING, bool),
        recorded=False,
    )
    random_state: Natural = option(
        0,
        "int",
        "Seeds folds and methods; the same seed gives the same leaderboard.",
        CommandLineFlag(
            "Seed of folds and methods.",
            None,
            int,
            name="seed",
            declarations=("--seed",),
            minimum=0,
        ),
    )

    @classmethod
    def checked(cls, **given) -> Options:
        """The options, or one sentence about the first that cannot be."""
        from ..params import ParameterError

        known = [f.name for f in fields(cls)]
        for name in given:
            if name not in known:
                raise TypeError(
                    f"compare() has no option {name!r}; its options are "
                    f"{', '.join(known)}."
                )
        options = cls(**given)
        if options.target is None or (options.target == [] and options.schema is None):
            raise ParameterError("target must name the column to predict.")
        check_fields(options)
        if options.resume and options.folder is None:
            raise ParameterError("resume needs the folder of the run to go on with.")
        if options.workers == 0 and options.memory_limit is not None:
            raise ParameterError(
                "memory_limit needs worker processes: workers must be at least 1."
            )
        return options

    def check_against(self, table, schema) -> None:
        """Raise unless the columns, classes and times that are named exist."""
        from ..params import ParameterError

        if self.calibrate and schema.task != "classification":
            raise ParameterError("calibrate is for the probabilities of classes.")
        if self.units and (schema.time is None or schema.group is None):
            raise ParameterError(
                "units is for panels: name the column of groups and that of times."
            )
        if self.gap and schema.time is None:
            raise ParameterError(
                "gap is for folds along time: name the column of times."
            )
        if self.by is not None and self.by not in table.column_names:
            from ..core.suggestions import unknown_column_message
            from ..tables import TableError

            raise TableError(unknown_column_message(self.by, table.column_names))
        if self.costs is not None:
            _check_costs(self.costs, schema.classes)

    def recorded(self, table) -> dict:
        """The options as a run folder records them, ready for JSON."""
        record: dict[str, Any] = {
            "source": describe_source(table),
            "file": is_file_path(table),
        }
        for f in fields(self):
            value: Any = getattr(self, f.name)
            if not f.metadata["recorded"]:
                continue
            if f.name == "methods" and isinstance(value, dict):
                record["own_methods"] = list(value)
                continue
            if f.name in ("schema", "test") and value is not None:
                value = describe_source(value)
            record[f.name] = _builtin_number(value)
        return record

    def changed(self) -> dict:
        """Options that affect scores or the kept model and differ from the default."""
        from ..tables.targets import as_name_list

        changes = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if not f.metadata["affects_scores"] or value == f.default:
                continue
            if f.name in ("ignore", "exclude"):
                value = as_name_list(value)
            if f.name == "schema":
                if not is_file_path(value):
                    continue
                value = describe_source(value)
            if value or value is False:
                changes[f.name] = value
        return changes


@cache
def _field_rules(cls) -> dict[str, ParameterRule]:
    """The rule of every field of a dataclass, read off its annotations."""
    from ..params import rule_of
    from . import option_types

    hints = get_type_hints(cls, localns=vars(option_types), include_extras=True)
    return {f.name: rule_of(hints[f.name]) for f in fields(cls)}


def check_fields(instance) -> None:
    """Raise one sentence about the first field that breaks its rule."""
    from ..params import ParameterError

    for name, (description, accepts) in _field_rules(type(instance)).items():
        value = getattr(instance, name)
        if not accepts(value):
            raise ParameterError(f"{name} must be {description}, got {value!r}.")


def _check_costs(costs, class_labels) -> None:
    """Raise unless there is one cost for each of two classes, not all of them 0."""
    from ..params import ParameterError

    classes = {str(c) for c in class_labels}
    if len(classes) != 2 or set(map(str, costs)) != classes:
        raise ParameterError(
            "costs must give one number for each of two classes, which here are "
            f"{', '.join(sorted(classes)) or 'none'}."
        )
    for name, cost in costs.items():
        is_number = isinstance(cost, Real) and not isinstance(cost, bool)
        if not is_number or not 0 <= float(cost) < inf:
            raise ParameterError(
                f"costs of {name!r} must be a number of at least 0, got {cost!r}."
            )
    if not any(costs.values()):
        raise ParameterError("costs must not all be 0.")


def _builtin_number(value: Any) -> Any:
    """A number of NumPy as one of Python; anything else as it is."""
    return value.item() if type(value).__module__ == "numpy" else value


def is_file_path(table) -> bool:
    return isinstance(table, str | os.PathLike)


def describe_source(table) -> str:
    """Full name of a file; of anything else, what it is."""
    return (
        str(Path(table).resolve())
        if is_file_path(table)
        else f"a {type(table).__name__}"
    )


# --- what is derived ---------------------------------------------------------------


def compare_signature(result) -> inspect.Signature:
    """The signature of `compare`: table, target, and every other option by keyword."""
    from . import option_types

    kind = inspect.Parameter
    hints = get_type_hints(Options, localns=vars(option_types))
    keywords = [
        kind(f.name, kind.KEYWORD_ONLY, default=f.default, annotation=hints[f.name])
        for f in fields(Options)
        if f.name != "target"
    ]
    return inspect.Signature(
        [
            kind("table", kind.POSITIONAL_OR_KEYWORD),
            kind("target", kind.POSITIONAL_OR_KEYWORD),
            *keywords,
            kind("progress", kind.KEYWORD_ONLY, default=None),
        ],
        return_annotation=result,
    )


def parameters_section(indent="    ") -> str:
    """The options as they stand in the Parameters section of `compare`."""
    import textwrap

    lines = []
    for f in fields(Options):
        lines.append(f"{indent}{f.name} : {f.metadata['kind']}")
        inner = indent + "    "
        lines += textwrap.wrap(
            f.metadata["text"], 88, initial_indent=inner, subsequent_indent=inner
        )
    return "\n".join(lines)


def options_table() -> str:
    """The options as a Markdown table, for `docs/compare.md`."""
    rows = ["| option | flag | default | what it does |", "|---|---|---|---|"]
    for f in fields(Options):
        default = "" if f.default is MISSING else f"`{f.default!r}`"
        cells = (f"`{f.name}`", f"`{_flag_name(f)}`", default, f.metadata["text"])
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _flag_name(f: Field) -> str:
    """The long flag of an option on the command line, e.g. `--max-rows`."""
    flag = f.metadata["flag"]
    if flag.declarations:
        return flag.declarations[0]
    return "--" + (flag.name or f.name).replace("_", "-")


def command_line_words(name, value) -> list[str]:
    """An option and its value as words of a command line.

    Examples
    --------
    >>> from pansophy.compare.options import command_line_words
    >>> command_line_words("max_rows", 500), command_line_words("blend", False)
    (['--max-rows', '500'], ['--no-blend'])
    """
    f = next(f for f in fields(Options) if f.name == name)
    long_flag = _flag_name(f)
    form = f.metadata["flag"].form
    if isinstance(value, bool):
        yes, _, no_flag = long_flag.partition("/")
        return [yes if value else no_flag or f"--no-{name.replace('_', '-')}"]
    if form == "pairs":
        return [w for k, v in value.items() for w in (long_flag, f"{k}={v}")]
    if form == "numbers":
        value = [f"{k}={v:g}" for k, v in value.items()]
    if isinstance(value, list | tuple):  # a comma inside a name is quoted
        value = ",".join(f'"{v}"' if "," in v else v for v in value)
    return [long_flag, str(value)]
