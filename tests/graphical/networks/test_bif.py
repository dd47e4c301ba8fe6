"""Networks as BIF text."""

import gzip

import numpy as np
import pytest

from pansophy.graphical import BayesianNetwork, random_network, read_bif, write_bif

TEXT = """
// a comment
network "two words" { property author = nobody ; }
variable rain { type discrete [ 2 ] { "not today", yes }; property p = (1,2) ; }
variable level{ type discrete[3]{ <5, 5-10 >=10 } ; }
/* block
   comment */
variable wet { type discrete [ 2 ] { no, yes }; }
probability ( rain ) { table 0.75 .25; }
probability ( level | rain ) { default 0.2, 0.3, 5e-1; (yes) 1, 0, 0; }
probability ( wet | rain, level ) { table
   0.9, 0.8, 0.7, 0.6, 0.5, 0.4,
   0.1, 0.2, 0.3, 0.4, 0.5, 0.6; }
"""


def same(a, b):
    assert a.space.names == b.space.names and a.parents == b.parents
    for s, t in zip(a.nodes, b.nodes, strict=True):
        np.testing.assert_array_equal(s.prob, t.prob)


def test_tolerant_reading():
    network = read_bif(TEXT)
    assert network.space.states[:2] == (("not today", "yes"), ("<5", "5-10", ">=10"))
    assert network.parents == ((), (0,), (0, 1))
    np.testing.assert_allclose(network.nodes[1].prob, [[0.2, 0.3, 0.5], [1, 0, 0]])
    np.testing.assert_allclose(network.nodes[2].prob[0, :, 1], [0.1, 0.2, 0.3])
    assert network.query("rain", {"level": "5-10"}).prob[0] == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(3))
def test_round_trip_is_exact(tmp_path, seed):
    network = random_network(9, 12, seed=seed)
    path = tmp_path / "network.bif"
    text = write_bif(network, path)
    same(read_bif(path), network)
    packed = tmp_path / "network.bif.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    same(read_bif(packed), network)
    assert write_bif(read_bif(text)) == text
    with path.open() as file:
        same(read_bif(file), network)


def test_pgmpy_reads_what_we_write_and_we_read_what_it_writes():
    readwrite = pytest.importorskip("pgmpy.readwrite")
    network = random_network(6, 7, seed=1)
    peer = readwrite.BIFReader(string=write_bif(network)).get_model()
    assert {(str(a), str(b)) for a, b in peer.edges()} == set(network.edges)
    back = read_bif(str(readwrite.BIFWriter(peer)))
    order = [back.space.names.index(v) for v in network.space.names]
    assert {(a, b) for a, b in back.edges} == set(network.edges)
    rows = network.sample(20, random_state=0)
    np.testing.assert_allclose(
        back.score_samples(rows), network.score_samples(rows), rtol=1e-6
    )
    assert sorted(order) == list(range(6))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("0.75 .25", "0.75 .75", "'rain' does not sum to 1"),
        ("0.75 .25", "0.75", "1 entries for 2"),
        ("0.75 .25", "0.75 x", "no numbers"),
        ("(yes) 1, 0, 0;", "(maybe) 1, 0, 0;", "no state 'maybe'"),
        ("(yes) 1, 0, 0;", "(yes) 1, 0;", "2 entries for 3 states"),
        ("default 0.2, 0.3, 5e-1;", "", "does not give every row"),
        ("probability ( rain ) { table 0.75 .25; }", "", "'rain' has no probability"),
        ("| rain )", "| snow )", "no variable is called 'snow'"),
        ("variable wet {", "variable rain {", "defined twice"),
        ("network", "newtork", "where a block should begin"),
        ("0.6; }", "0.6;", "ends in the middle"),
    ],
)
def test_bad_text_is_told_in_a_sentence(old, new, words):
    with pytest.raises(ValueError, match=words):
        read_bif(TEXT.replace(old, new))


def test_what_cannot_be_written():
    from pansophy.graphical import LinearGaussian

    network = BayesianNetwork.from_tables({"a": LinearGaussian(0.0, [], 1.0)})
    with pytest.raises(ValueError, match="'a' is continuous"):
        write_bif(network)


ODD = """network "see http://x" { property by "a // b"; }
// a comment with { in it
variable rain{type discrete[2]{no,"yes; sure"};}/* and
another } */
variable wet { type discrete [ 2 ] { "x//y", w\u00e4t }; }
probability(rain){table 0.8 0.2;}// done
probability ( wet|rain ) { default 0.5, 0.5; ("yes; sure") 2e-1,.8; }
"""


def test_comments_quotes_line_ends_and_encodings(tmp_path):
    want = read_bif(ODD)
    assert want.space.states == (("no", "yes; sure"), ("x//y", "w\u00e4t"))
    assert want.table("wet").tolist() == [[0.5, 0.5], [0.2, 0.8]]
    path = tmp_path / "odd.bif"
    for data in (
        ODD.replace("\n", "\r\n").encode(),
        ("\ufeff" + ODD).encode(),
        ODD.encode("latin-1"),
    ):
        path.write_bytes(data)
        assert read_bif(path).space == want.space
    assert read_bif(write_bif(want)).space == want.space


def test_texts_that_contradict_themselves():
    for text, words in [
        (ODD.replace("discrete[2]", "discrete[3]"), "lists 2 states, not 3"),
        (ODD + "probability(rain){table 0.5 0.5;}", "two probability blocks"),
        (ODD.replace('no,"yes; sure"', "no,no"), "each once"),
        ("network x { }", "no variable"),
    ]:
        with pytest.raises(ValueError, match=words):
            read_bif(text)
    alike = BayesianNetwork.from_tables({"a": [0.5, 0.5]}, states={"a": ["1", 1]})
    with pytest.raises(ValueError, match="each once"):
        write_bif(alike)
