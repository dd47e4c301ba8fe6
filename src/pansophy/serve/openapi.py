"""The OpenAPI schema of a request: a pydantic model of one row.

`reader` keeps the same rules on the way of every request; a test holds the two
together.
"""

import re
from typing import Annotated, Any

from ..compare.model.training_reference import common_levels, typical_value
from ..tables.number_formats import EPOCHS
from ..tables.roles import column_format

MAX_LISTED_LEVELS = 50  # levels listed in the document


def row_model(model, reader):
    """A pydantic class with a field for every used column of a TableModel."""
    from pydantic import ConfigDict, Field, create_model

    example = example_row(model)
    fields: dict[str, Any] = {}
    for j, one in enumerate(reader.inputs):
        c = one.column
        field = Field(
            alias=c.name,
            title=c.name,
            description=describe_column(c, model.reference),
            examples=[example.get(c.name)],
        )
        default = ... if one.required else None
        kind: Any = json_type(c) | None
        fields[f"c{j}"] = (Annotated[kind, field], default)
    strict = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    return create_model("Row", __config__=strict, **fields)


def json_type(column):
    """JSON type of a column's values."""
    if column.role in ("category", "ordinal"):
        from pydantic import Field

        level = Field(ge=-(2**63), lt=2**63)  # as `row_reader` takes numbers
        return str | Annotated[int, level] | Annotated[float, level] | bool
    if column.form in EPOCHS:
        return float | str
    if column.role == "date":
        text = date_text(column.form)
        return text | int if column.form else text
    if column.role == "text":
        return str
    if column_format(column):
        return float | str
    return float | bool if column.boolean else float


def date_text(form):
    """A text that is a date: in ISO form, or as the training table had it."""
    from pydantic import WithJsonSchema

    kinds: list[dict] = [{"format": "date"}, {"format": "date-time"}]
    if "%" in form:
        kinds.append({"pattern": date_pattern(form), "description": form})
    return Annotated[
        str, WithJsonSchema({"anyOf": [{"type": "string", **kind} for kind in kinds]})
    ]


def date_pattern(form) -> str:
    """A regular expression for texts of a date format.

    Examples
    --------
    >>> from pansophy.serve.openapi import date_pattern
    >>> print(date_pattern("%d/%m/%Y"))
    ^[0-9]{1,6}/[0-9]{1,6}/[0-9]{1,6}$
    """
    words = {"b": "[^0-9]+", "B": "[^0-9]+", "a": "[^0-9]+", "A": "[^0-9]+"}
    words |= {"p": "[^0-9]+", "z": "[-+Z0-9:]+", "Z": ".*"}
    first, *parts = form.split("%")
    texts = [words.get(p[:1], "[0-9]{1,6}") + re.escape(p[1:]) for p in parts]
    return f"^{re.escape(first)}{''.join(texts)}$"


def describe_column(column, reference) -> str:
    """The role of a column and its levels, without those that few rows had."""
    if column.levels:
        listed = common_levels(reference, column)[:MAX_LISTED_LEVELS]
        more = ["..."] if len(column.levels) > len(listed) else []
        return f"{column.role}: {', '.join([*map(str, listed), *more])}"
    form = column_format(column)
    return f"{column.role} ({form})" if form else column.role


def example_row(model) -> dict:
    """A row as it would be posted: what is typical of each column by itself."""
    reference = model.reference
    return {c.name: example_value(c, reference) for c in model.schema.used}


def example_value(column, reference):
    if column.role == "text":
        return "some text"
    value = typical_value(reference, column)
    if value is None or column.role in ("category", "ordinal"):
        return value
    if column.role == "date":
        import numpy as np

        return str(np.datetime64(round(float(value)), "s"))
    value = float(f"{float(value):.3g}")
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


ROW = {"$ref": "#/components/schemas/Row"}
ERRORS = {
    400: "The body is not JSON.",
    408: "The body did not arrive in time.",
    413: "The body or the number of rows is too large.",
    415: "The body is not application/json.",
    422: "A row does not fit the schema; the answer names row and column.",
    503: "Too many rows are waiting.",
}


def request_body_document() -> dict:
    """Body of /predict and /explain, for OpenAPI."""
    rows = {"type": "array", "items": ROW, "minItems": 1}
    wrapped = {
        "type": "object",
        "properties": {"rows": rows},
        "required": ["rows"],
        "additionalProperties": False,
    }
    body = {"application/json": {"schema": {"anyOf": [ROW, rows, wrapped]}}}
    return {"requestBody": {"required": True, "content": body}}


def add_row_schema(application, row):
    """Let the OpenAPI document of an application know the type of a row."""
    plain = application.openapi

    def openapi():
        result = plain()
        parts = result.setdefault("components", {}).setdefault("schemas", {})
        parts["Row"] = row.model_json_schema(by_alias=True)
        return result

    application.openapi = openapi
