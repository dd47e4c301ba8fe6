"""The options of `pansophy compare`, in the panels of its help."""

from pathlib import Path
from typing import Annotated

import typer

DATA, JOB, ANSWER = "Data", "Running", "Answer"


def option(text, panel, *names, **more):
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


Target = Annotated[
    list[str],
    option("Column to predict; again for several labels.", DATA, "--target", "-t"),
]
Task = Annotated[
    str,
    option("auto, classification, regression, count or multilabel.", DATA),
]
AnyTask = Annotated[
    str, typer.Option(help="auto, classification, regression, count or multilabel.")
]
Group = Annotated[str | None, option("Column whose rows stay in one fold.", DATA)]
Time = Annotated[str | None, option("Column along which folds are cut.", DATA)]
Weight = Annotated[str | None, option("Column saying how often a row counts.", DATA)]
Ignore = Annotated[
    list[str] | None, option("Columns to leave out, separated by commas.", DATA)
]
Role = Annotated[
    list[str] | None,
    option("Column and its role, e.g. `zip=category`; may be repeated.", DATA),
]
Schema = Annotated[
    Path | None, option("Schema file, as an earlier run wrote it.", DATA)
]
Test = Annotated[
    Path | None, option("A test table: the methods are compared on it too.", DATA)
]
MaxRows = Annotated[int, option("A larger table is sampled to compare.", DATA, min=10)]
Methods = Annotated[
    list[str] | None, option("Names of methods, separated by commas.", JOB)
]
Folds = Annotated[int, option("Folds of a cross-validation.", JOB)]
Repeats = Annotated[int | None, option("Cross-validations; fewer for more rows.", JOB)]
Together = Annotated[
    bool, option("Keep rows with the very same inputs in one fold.", JOB)
]
Gap = Annotated[int, option("Rows left out before each test part along time.", JOB)]
Tune = Annotated[
    int, option("Settings tried for each method, on inner folds.", JOB, min=0)
]
Blend = Annotated[
    bool | None,
    option(
        "Rank an average of the methods as well, or not.", JOB, "--blend/--no-blend"
    ),
]
Calibrate = Annotated[
    bool, option("Try each classifier with calibrated probabilities too.", JOB)
]
Workers = Annotated[
    int | None, option("Fits at the same time; by default one a core.", JOB)
]
TimeLimit = Annotated[float, option("Seconds that one fit may take.", JOB)]
MemoryLimit = Annotated[float | None, option("Megabytes that one fit may take.", JOB)]
MaxFits = Annotated[int | None, option("Fits in all.", JOB, min=1)]
StopAfter = Annotated[float | None, option("Seconds after which no fit begins.", JOB)]
Cluster = Annotated[str | None, option("Address of a dask scheduler to run on.", JOB)]
Resume = Annotated[bool, option("Go on with the run in the folder of --out.", JOB)]
Metric = Annotated[str | None, option("What ranks the methods.", ANSWER)]
Keep = Annotated[
    str,
    option("Of the methods tied with the best, keep the simplest or the best.", ANSWER),
]
By = Annotated[
    str | None, option("Column whose groups are compared for fairness.", ANSWER)
]
Costs = Annotated[
    str | None,
    option("Costs of wrong answers, e.g. `yes=5,no=1`.", ANSWER),
]
