"""Which method for this table? The main job from Python, in one call and a few looks.

Run it: python examples/which_method.py
"""

import tempfile
from pathlib import Path

import pansophy
from pansophy.datasets import load


def main():
    data = load("customers")
    with tempfile.TemporaryDirectory() as place:
        result = pansophy.compare(
            data.table,
            data.target,
            methods=["logistic regression", "decision tree", "nearest neighbours"],
            repeats=1,
            workers=0,
            folder=Path(place) / "run",
        )
        print(result)
        files = result.write()
        model = pansophy.load(files["Model"])
    few = data.table.slice(0, 3)
    print(model.answer(few, level=0.9, explain=2).to_pylist()[0])


if __name__ == "__main__":
    main()
