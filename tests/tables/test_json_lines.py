"""JSON values of mixed types become text."""

from pansophy.tables import (
    read_table,
)


def put(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_mixed_json_becomes_text(tmp_path):
    path = put(tmp_path / "m.jsonl", '{"a": 1, "t": [1]}\n\n{"a": "x"}\n{"b": true}\n')
    assert read_table(path).to_pydict() == {
        "a": ["1", "x", None], "t": [[1], None, None], "b": [None, None, True],
    }  # fmt: skip
