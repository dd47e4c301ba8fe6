"""Decision trees as figures."""

from pansophy import plot


def test_tree():
    from sklearn.datasets import load_iris

    from pansophy import datasets
    from pansophy.tree import DecisionTreeClassifier, ID3Classifier

    data = load_iris()
    model = DecisionTreeClassifier(max_depth=2).fit(data.data, data.target)
    ax = plot.tree(model, class_names=data.target_names)
    words = [t.get_text() for t in ax.texts]
    assert len(ax.patches) == model.tree_.node_count
    assert "setosa 100%" in words and "150 rows" in words and "yes" in words
    assert plot.tree(model, max_depth=1, ax=ax) is ax
    table = datasets.load_weather().table
    model = ID3Classifier().fit(table.drop_columns(["Play"]), table["Play"].to_pylist())
    words = [t.get_text() for t in plot.tree(model).texts]
    assert {"Outlook?", "Sunny", "Overcast", "Rainy", "yes 100%"} <= set(words)
    ax.figure.canvas.draw()
