"""Separators, quotes, encodings and preambles of text files are detected."""

import pytest

from pansophy.tables import (
    TableError,
    read_table,
    reading_notes,
    table_batches,
)


def put(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_quotes_newlines_and_separators_inside_values(tmp_path):
    path = put(tmp_path / "q.csv", 'name,x\n"a; b; ""c""",1\n"d;\ne;",2\n"f;g",3\n')
    want = {"name": ['a; b; "c"', "d;\ne;", "f;g"], "x": [1, 2, 3]}
    assert read_table(path).to_pydict() == want
    path = put(tmp_path / "s.csv", "a;b\n1,5;x, y\n2,25;z\n1000,125;w, w, w\n")
    assert read_table(path).to_pydict()["a"] == [1.5, 2.25, 1000.125]


def test_other_encodings_are_said(tmp_path):
    early = put(tmp_path / "l.csv", "größe,y\nä,1\né,2\n".encode("latin-1"))
    table = read_table(early)
    assert table.to_pydict() == {"größe": ["ä", "é"], "y": [1, 2]}
    assert (
        "not UTF-8" in reading_notes(table)[0] and "cp1252" in reading_notes(table)[0]
    )
    late = put(tmp_path / "late.csv", b"a,y\n" + b"x,1\n" * 100_000 + b"\xe9\x81,2\n")
    table = read_table(late)
    assert (
        table.column("a")[-1].as_py() == "é\x81"
        and "latin-1" in reading_notes(table)[0]
    )
    assert reading_notes(read_table({"a": [1]})) == []
    head = read_table(put(tmp_path / "n.csv", "1,2\n3,4\n"))
    assert "looks like values" in reading_notes(head)[0]


def test_lines_before_the_names(tmp_path):
    told = put(tmp_path / "s.csv", "sep=;\r\na;b\r\n1,5;x\r\n2,5;y\r\n")
    assert read_table(told).to_pydict() == {"a": [1.5, 2.5], "b": ["x", "y"]}
    path = put(tmp_path / "c.csv", "# made by 7, on\n# 2024\na,b\n1,2\n")
    table = read_table(path)
    assert table.to_pydict() == {"a": [1], "b": [2]}
    assert "2 lines of comment" in reading_notes(table)[0]
    assert [b.to_pydict() for b in table_batches(path)] == [{"a": [1], "b": [2]}]
    named = put(tmp_path / "h.tsv", "## version 4\n#chrom\tpos\n1\t2\n")
    assert read_table(named).to_pydict() == {"#chrom": [1], "pos": [2]}
    wrong = put(tmp_path / "w.csv", "# k\na,b\n1,2\n1\n")
    with pytest.raises(TableError, match="line 4 has 1 value, but line 2 has 2 names"):
        read_table(wrong)
