"""Formulas of columns: parsed from text, checked and evaluated without `eval`.

A formula is arithmetic (+ - * / **, brackets, numbers), the functions of `FUNCTIONS`
and names of columns. It is parsed to a syntax tree in which only these nodes are
allowed, and the tree is evaluated on arrays of any library. So a feature map is data:
it can be saved, printed and compared, and a formula from a file can do nothing but
arithmetic.
"""

import ast
import math
import operator
from typing import Any

from ..core.arrays.arrays import namespace

BINARY: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
UNARY: dict[type, Any] = {ast.USub: operator.neg, ast.UAdd: operator.pos}
FUNCTIONS = (
    "abs",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "log",
    "log1p",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
)
CONSTANTS = {"pi": math.pi, "e": math.e}


def parse_formula(text: str) -> ast.expr:
    """The syntax tree of a formula; raises where it is not allowed."""
    if not isinstance(text, str):
        raise TypeError(f"a formula must be text, got {text!r}.")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{text!r} is no formula: {error.msg}.") from None
    for node in ast.walk(tree):
        if not _is_allowed_node(node):
            raise ValueError(
                f"{text!r} holds {type(node).__name__.lower()}, which no formula may: "
                f"there are numbers, columns, + - * / ** and {', '.join(FUNCTIONS)}."
            )
    return tree


def _is_allowed_node(node) -> bool:
    """Whether a node of the syntax tree may be in a formula."""
    if isinstance(node, ast.Call):
        named = isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS
        return named and len(node.args) == 1 and not node.keywords
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    if isinstance(node, ast.BinOp):
        return type(node.op) in BINARY
    if isinstance(node, ast.UnaryOp):
        return type(node.op) in UNARY
    plumbing = (ast.Name, ast.Load, *BINARY, *UNARY)
    return isinstance(node, plumbing)


def names_in_formula(tree) -> set[str]:
    """The columns that a formula uses."""
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    result = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called
    }
    return result - set(CONSTANTS)


def evaluate_formula(tree, columns: dict[str, Any]):
    """The value of a formula for named arrays."""
    if isinstance(tree, ast.Constant):
        return tree.value
    if isinstance(tree, ast.Name):
        return columns[tree.id] if tree.id in columns else CONSTANTS[tree.id]
    if isinstance(tree, ast.BinOp):
        a = evaluate_formula(tree.left, columns)
        b = evaluate_formula(tree.right, columns)
        return BINARY[type(tree.op)](a, b)
    if isinstance(tree, ast.UnaryOp):
        return UNARY[type(tree.op)](evaluate_formula(tree.operand, columns))
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        value = evaluate_formula(tree.args[0], columns)
        if isinstance(value, (int, float)):
            return (
                abs(value)
                if tree.func.id == "abs"
                else getattr(math, tree.func.id)(value)
            )
        return getattr(namespace(value), tree.func.id)(value)
    raise ValueError(f"no formula: {ast.unparse(tree)}")
