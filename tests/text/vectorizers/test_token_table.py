"""Token tables: ids by first appearance, words of texts, counts block by block."""

import numpy as np

from pansophy.text.vectorizers.token_table import (
    DocumentIds,
    IdCounter,
    TokenTable,
    blocks_of_texts,
    concatenate_documents,
    drop_tokens,
    join_lower,
    join_texts,
)


def test_ids_in_order_of_first_appearance():
    table = TokenTable(["b", "a", "b"])
    assert len(table) == 2 and table.texts() == ["b", "a"]
    assert table.find(["a", "zz", ""]).tolist() == [1, -1, -1]
    assert table.add(["ü", "a"]).tolist() == [2, 1]
    many = [f"token {i}" for i in range(5000)]  # the table grows on the way
    assert table.add(many).tolist() == list(range(3, 5003))
    assert table.find(many[::7]).tolist() == list(range(3, 5003, 7))


def test_words_of_texts_and_their_ends():
    table = TokenTable()
    found = table.words(join_lower(["The cat, the CAT!", "", "I saw"]), min_length=2)
    assert table.texts() == ["the", "cat", "saw"]
    assert found.ids.tolist() == [0, 1, 0, 1, 2] and found.ends.tolist() == [4, 4, 5]
    again = table.words(join_lower(["a dog saw"]), min_length=1, insert=False)
    assert again.ids.tolist() == [-1, -1, 2] and len(table) == 3


def test_lower_case_that_changes_the_length():
    joined = join_lower(["İx", "y"])  # the dotted I becomes two characters
    assert joined.ends.tolist() == [3, 4] and joined.text.endswith("xy")
    assert join_texts(["ab", "c"]).ends.tolist() == [2, 3]


def test_documents_in_blocks_are_one_after_the_other():
    texts = ["aa", "b", "cccc", "d"]
    assert list(blocks_of_texts(texts, 3)) == [["aa", "b"], ["cccc"], ["d"]]
    one = DocumentIds(np.array([0, 1], np.int32), np.array([1, 2]))
    two = DocumentIds(np.array([2, 0], np.int32), np.array([0, 2]))
    both = concatenate_documents([one, two])
    assert both.ids.tolist() == [0, 1, 2, 0] and both.ends.tolist() == [1, 2, 2, 4]
    left = drop_tokens(both, np.array([True, False, False]))
    assert left.ids.tolist() == [1, 2] and left.ends.tolist() == [0, 1, 1, 2]
    assert both.ids.tolist() == [0, 1, 2, 0]


def test_counts_of_blocks_are_those_of_all_documents():
    counter = IdCounter()
    counter.add(DocumentIds(np.array([1, 0, 1], np.int32), np.array([3])), 2)
    counter.add(DocumentIds(np.array([5, 5], np.int32), np.array([0, 2])), 6)
    found = counter.result()
    assert found.indptr.tolist() == [0, 2, 2, 3]
    assert found.indices.tolist() == [1, 0, 5] and found.counts.tolist() == [2, 1, 2]
    assert IdCounter().result().indptr.tolist() == [0]
