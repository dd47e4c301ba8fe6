"""Names of users and items."""

import numpy as np
import pyarrow as pa

from pansophy.recommend.name_codes import codes_of_names, encode_names


def test_names_of_every_kind():
    for labels in ([3, 1, 3], [10**12, 5, 10**12], [0.5, 0.25, 0.5], ["b", "a", "b"],
                   np.array(["b", "a", "b"], object), [True, False, True],
                   np.array(["2020-01-02", "2020-01-01", "2020-01-02"], "M8[D]"),
                   pa.array(["b", "a", "b"])):  # fmt: skip
        codes, names = encode_names(labels)
        assert codes.tolist() == [1, 0, 1] and len(names) == 2
    long = [f"n{i % 700}" for i in range(2000)]
    codes, names = encode_names(long)
    assert names[codes].tolist() == long and (names[1:] > names[:-1]).all()
    assert codes_of_names(names, ["n3", "zz"]).tolist() == [
        names.tolist().index("n3"),
        -1,
    ]
