"""JSON values of mixed types become text; deeply nested ones are refused."""

import pytest

from pansophy.tables import TableError, read_table


def put(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_mixed_json_becomes_text(tmp_path):
    path = put(tmp_path / "m.jsonl", '{"a": 1, "t": [1]}\n\n{"a": "x"}\n{"b": true}\n')
    assert read_table(path).to_pydict() == {
        "a": ["1", "x", None], "t": [[1], None, None], "b": [None, None, True],
    }  # fmt: skip


@pytest.mark.parametrize("depth", [100, 3000, 200_000])
@pytest.mark.parametrize("pair", ["[]", ('{"b": ', "}")])
@pytest.mark.parametrize("ending", [".jsonl", ".json"])
def test_deep_nesting_is_refused_before_a_parser_sees_it(tmp_path, depth, pair, ending):
    deep = pair[0] * depth + "1" + pair[1] * depth
    row = f'{{"a": {deep}, "y": 1}}'
    flat = '{"a": 1, "y": 2}'
    text = f"[{flat}, {row}]" if ending == ".json" else f"{flat}\n{row}\n"
    with pytest.raises(TableError, match=r"line \d is nested \d+ levels deep"):
        read_table(put(tmp_path / f"deep{ending}", text))


def test_brackets_in_texts_are_no_nesting(tmp_path):
    lines = [f'{{"a": "{"[" * 200} \\" {{", "y": {i}}}' for i in range(30)]
    table = read_table(put(tmp_path / "t.jsonl", "\n".join(lines)))
    assert table.shape == (30, 2) and table["a"][0].as_py() == "[" * 200 + ' " {'
