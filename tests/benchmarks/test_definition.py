"""The hash of a case changes with what it measures, and with nothing else."""

import importlib.util
import textwrap

import pytest

from benchmarks import definition

BASE = {
    "bench_made": '''
        """A module."""
        import numpy as np
        from .bench_other import helper
        from .runner import Case

        ROWS = 10
        TWICE = 2 * ROWS

        def data(size):
            """Rows."""
            return np.ones((TWICE, size))

        def fit(library, **options):
            def run(payload, seed=0):
                # a comment
                from .bench_other import late
                return helper(payload), late(seed), library, options
            return run

        def unrelated():
            return 1

        CASES = [
            Case(
                name="made",
                what="a case",
                sizes=[1, 2, 3],
                data=data,
                ours=fit("ours", depth=3),
                peers={"theirs": fit("theirs", depth=3)},
                quality=lambda payload, result: result[0],
                notes="a note",
            )
        ]
    ''',
    "bench_other": """
        STEP = 4

        def helper(x):
            return x + STEP

        def late(x):
            return x

        def unrelated():
            return 1
    """,
}


@pytest.fixture
def hash_of(tmp_path, monkeypatch):
    """The hash of the case above, with a piece of a module replaced."""
    monkeypatch.setattr(definition, "HOME", tmp_path)

    def compute(module="bench_made", old="", new=""):
        definition.module_source.cache_clear()
        for name, text in BASE.items():
            text = textwrap.dedent(text)
            if name == module:
                assert old in text
                text = text.replace(old, new)
            (tmp_path / f"{name}.py").write_text(text)
        path = tmp_path / "bench_made.py"
        spec = importlib.util.spec_from_file_location("benchmarks.bench_made", path)
        made = importlib.util.module_from_spec(spec)
        source = path.read_text().replace("from .bench_other import helper", "")
        exec(compile(source, str(path), "exec"), made.__dict__)
        return definition.hash_case(made.CASES[0])

    yield compute
    definition.module_source.cache_clear()


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("bench_made", "np.ones", "np.zeros"),
        ("bench_made", "ROWS = 10", "ROWS = 11"),
        ("bench_made", 'fit("theirs", depth=3)', 'fit("theirs", depth=4)'),
        ("bench_made", "seed=0", "seed=1"),
        ("bench_made", "sizes=[1, 2, 3]", "sizes=[1, 2, 4]"),
        ("bench_made", "result[0]", "0.0"),
        ("bench_made", 'name="made"', 'name="made", tolerance=0.1'),
        ("bench_made", '{"theirs": ', '{"more": data, "theirs": '),
        ("bench_other", "x + STEP", "x - STEP"),
        ("bench_other", "STEP = 4", "STEP = 5"),
        ("bench_other", "return x\n", "return 2 * x\n"),
    ],
)
def test_a_changed_case_has_another_hash(hash_of, module, old, new):
    assert hash_of(module, old, new) != hash_of()


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("bench_made", "# a comment", "# another one"),
        ("bench_made", '"""Rows."""', '"""Rows of ones."""'),
        ("bench_made", 'notes="a note"', 'notes="another note", target=3.0'),
        ("bench_made", "return 1", "return 2"),
        ("bench_made", "np.ones((TWICE, size))", "np.ones(\n(TWICE, size)\n)"),
        ("bench_other", "return 1", "return 2"),
    ],
)
def test_what_is_not_measured_leaves_the_hash(hash_of, module, old, new):
    assert hash_of(module, old, new) == hash_of()


def test_the_way_of_measuring_counts(hash_of, monkeypatch):
    before = hash_of()
    monkeypatch.setattr(definition, "METHOD", definition.METHOD + 1)
    assert hash_of() != before
