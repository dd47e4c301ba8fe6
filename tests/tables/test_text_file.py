"""Types of text files are inferred over all rows."""

from pansophy.tables import (
    read_table,
)


def put(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_types_are_decided_over_the_whole_file(tmp_path):
    n = 300_000  # several blocks of the reader
    rows = "1,2,2024-01-01,007\n" * n
    path = put(
        tmp_path / "late.csv", "a,b,c,d\n" + rows + "oops,2.5,2024-01-01 10:00,1\n"
    )
    table = read_table(path)
    kinds = [str(t) for t in table.schema.types]
    assert kinds == ["string", "double", "timestamp[s]", "string"]
    assert table.column("a")[-1].as_py() == "oops"
    assert table.column("d").slice(n - 1).to_pylist() == ["007", "1"]
