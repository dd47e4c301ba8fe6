"""Measures of how the code reads: each finds a planted case, and leaves a good one."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools"))

from tools import check, house  # noqa: E402


def parsed(**modules):
    """Sources as the measures read them, from texts by module."""
    return {
        Path(f"src/pansophy/{name}.py"): (text, ast.parse(text))
        for name, text in modules.items()
    }


def test_fragments_lean_on_another_docstring():
    sources = parsed(a='def f():\n    """The same, sorted."""\n', b='"""Of a row."""\n')
    assert len(house.docstring_fragments(sources)) == 2
    assert not house.docstring_fragments(parsed(a='"""Offsets of rows."""\n'))


def test_stop_words_are_counted_among_assignments():
    places, total = house.stop_word_names(parsed(a="at = 1\nmean = at\nfirst = 2\n"))
    assert [place.split()[-1] for place in places] == ["at"]
    assert total == 3


TOWER = """
class AbstractA(Estimator): ...
class AbstractB(AbstractA): ...
class AbstractC(AbstractB): ...
class Deep(AbstractC): ...
class Shallow(AbstractB): ...
"""


def test_depth_counts_abstract_classes_above_an_estimator():
    assert [name.split()[1] for name in house.deep_estimators(parsed(a=TOWER))] == [
        "Deep:"
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"""Reads `vanished`."""\n', ["`vanished`"]),
        ('"""Reads `kept` and `kept.real(x)`."""\nkept = 1.0\nkept.real\n', []),
        ('"""Runs `tools/check.py`, ``anything``, :math:`vanished`."""\n', []),
    ],
)
def test_ghosts_are_names_that_no_code_defines(text, found):
    assert [g.split(" ", 1)[1] for g in house.ghost_names(parsed(a=text))] == found


def test_documented_parameters_exist():
    text = '''
def f(x, *, tol=1):
    """Sum.

    Parameters
    ----------
    x, reach : array
    tol : float
        Smallest
        step.
    """
'''
    assert [g.split()[-1] for g in house.ghost_parameters(parsed(a=text))] == ["reach"]


def test_details_are_what_only_their_own_file_uses():
    sources = parsed(
        a="def part(): ...\ndef unmarked_part(): part()\ndef _marked(): ...\n",
        b="from .a import part\n",
        c='def shown():\n    """Shown.\n\n    >>> shown()\n    """\n',
        d="def unmarked_details(): ...\n",  # this test calls one of that name
    )
    details, total = house.unmarked_details(sources)
    assert [place.split()[-1] for place in details] == ["unmarked_part"]
    assert total == 5


def test_crowded_folders_count_what_is_beyond_the_limit():
    sources = parsed(**{f"m{i}": "" for i in range(house.MODULES_LIMIT + 2)})
    assert len(house.crowded_folders(sources)) == 2


def test_the_ratchet_holds(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "RATCHET", tmp_path / "ratchet.json")
    check.RATCHET.write_text('{"count": 3, "share": 2.0}')
    measures = {"count": (4, ["x.py:1"]), "share": (2.1, [])}
    assert check.ratchet_breaches(measures, False) == ["count: 4, 3 before; x.py:1"]
    assert not check.ratchet_breaches({"count": (2, [])}, True)
    assert '"count": 2' in check.RATCHET.read_text()
