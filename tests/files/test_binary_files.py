"""Files of arrays and pickles that are right are read as NumPy and pickle read them."""

import io
import pickle
import random
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.cider.document_frequencies import DocumentFrequencies
from metrics.files.arrays import open_array, read_npz, unpacked_bytes
from metrics.files.pickles import read_plain_pickle
from tests.files.malformed_arrays import NUMBERS, npy
from tests.stress import rounds

ARRAYS = {
    "rows": np.arange(6, dtype="<f4").reshape(2, 3),
    "columns first": np.asfortranarray(np.arange(6, dtype="<f8").reshape(2, 3)),
    "big end first": np.arange(6, dtype=">f4").reshape(2, 3),
    "half": np.arange(6, dtype="<f2").reshape(3, 2),
    "bytes": np.arange(6, dtype="u1").reshape(3, 2),
    "integers": np.arange(6, dtype=">i8"),
    "truths": np.array([[True, False]]),
    "complex": np.array([1j]),
    "one number": np.array(5.0),
    "no row": np.zeros((0, 4), np.float32),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_arrays_are_read_as_numpy_reads_them(name, version, tmp_path):
    path = str(tmp_path / "x.npy")
    with open(path, "wb") as file:
        np.lib.format.write_array(file, ARRAYS[name], version)
    found, expected = open_array(path), np.load(path, mmap_mode="r")
    assert isinstance(found, np.memmap) and found.dtype == expected.dtype and found.strides == expected.strides
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }",
        '{"descr": "<f4", "fortran_order": False, "shape": (2, 3)}',
        "{ 'shape':(2,3),'fortran_order':False,'descr':'<f4' }\n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3,), }" + " " * 9000 + "\n",
    ],
)
def test_headers_of_other_writers(header, tmp_path):
    (tmp_path / "x.npy").write_bytes(npy(header=header))
    assert open_array(str(tmp_path / "x.npy")).tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_are_read_as_numpy_reads_them(save):
    file, arrays = io.BytesIO(), {name.replace(" ", "_"): array for name, array in ARRAYS.items()}
    save(file, **arrays)
    found = read_npz(file)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype and found[name].flags.writeable
        np.testing.assert_array_equal(found[name], array)


def test_what_an_archive_unpacks_to(tmp_path):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, x=np.zeros(9000), y=np.zeros(2, "u1"))
    assert unpacked_bytes(str(path)) == unpacked_bytes(path) == 128 + 72000 + 128 + 2
    assert len(read_npz(path, max_bytes=72258)) == 2
    with pytest.raises(
        ValueError, match=r"x\.npz is no readable .npz file: it unpacks to 72258 bytes, expected at mo"
    ):
        read_npz(path, max_bytes=72257)
    # Arrays that pack well are no bomb.
    np.savez_compressed(path, x=np.zeros(8 << 20, "u1"))
    assert len(read_npz(path)["x"]) == 8 << 20 > 500 * path.stat().st_size


def test_a_file_that_is_not_there_is_an_os_error(tmp_path):
    for read in (read_npz, unpacked_bytes, open_array):
        with pytest.raises(FileNotFoundError):
            read(str(tmp_path / "missing.npy"))


def test_the_numbers_are_those_of_the_header():
    assert np.frombuffer(NUMBERS, "<f4").tolist() == [0, 1, 2, 3, 4, 5]


# --- pickles ----------------------------------------------------------------------------------------------------

TOKENS = st.text(max_size=3) | st.integers(-(2**59), 2**59)
NUMBERS_OF_ANY_KIND = st.integers(-(2**59), 2**59) | st.floats(allow_nan=False) | st.booleans() | st.none()
TABLES = st.dictionaries(st.lists(TOKENS, max_size=4).map(tuple), NUMBERS_OF_ANY_KIND, max_size=8)


@settings(max_examples=rounds(15, 2000), deadline=None)
@pytest.mark.stress
@given(TABLES, st.sampled_from(range(6)), st.sampled_from([dict, OrderedDict, Counter, "default"]), st.booleans())
def test_tables_are_read_as_pickle_reads_them(table, protocol, kind, is_wrapped):
    table = defaultdict(float, table) if kind == "default" else kind(table)
    content = {"document_frequency": table, "ref_len": 5, "more": [[1.5, "a"], None]} if is_wrapped else table
    found = read_plain_pickle(pickle.dumps(content, protocol))
    assert found == content and type(found) is dict


def test_a_table_of_many_words():
    # Over 256 places in the memo, and batches of a thousand.
    table = {(f"word{i % 700}", f"word{i}"): float(i % 3 + 1) for i in range(2500)}
    for protocol in range(6):
        assert read_plain_pickle(pickle.dumps(defaultdict(float, table), protocol)) == table


@pytest.mark.stress
def test_a_damaged_pickle_is_read_or_refused():
    rng, table = random.Random(5), {("a",): 2.0, ("a", "cat"): 1.0, ("sits", 5): 3}
    pickles = [pickle.dumps({"document_frequency": defaultdict(float, table), "ref_len": 3}, p) for p in range(6)]
    refused = 0
    for _ in range(rounds(300, 100_000)):
        content = bytearray(rng.choice(pickles))
        for _ in range(rng.choice((1, 1, 2, 9))):
            content[rng.randrange(len(content))] = rng.randrange(256)
        try:
            read_plain_pickle(bytes(content[: rng.randrange(len(content)) if rng.random() < 0.1 else None]))
        except ValueError as error:
            assert len(str(error)) < 400
            refused += 1
    assert refused > 100


def straight(grams):
    """{n-gram: df} of a table with all beginnings of its n-grams."""
    beginnings = {gram[:depth]: 0 for gram in grams for depth in range(1, len(gram) + 1)}
    return {**beginnings, **grams}


@settings(max_examples=rounds(20, 1000), deadline=None)
@pytest.mark.stress
@given(st.dictionaries(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4).map(tuple), st.integers(0, 9)))
def test_a_table_of_any_grams(tmp_path_factory, grams):
    path = tmp_path_factory.getbasetemp() / "grams.p"
    path.write_bytes(pickle.dumps(grams, 2))
    table = DocumentFrequencies.from_pickle(str(path), 9, "whitespace")
    expected = straight(grams)
    assert len(table) == len(expected) and {gram: table[gram] for gram in expected} == expected
    for level, _ in table.levels:
        assert (np.diff(level) > 0).all()
    # What repeats is kept, though its beginning has no frequency; so is its way there.
    final = DocumentFrequencies.of(table.finalize().to_dict())
    repeated = {gram: count for gram, count in expected.items() if count > 1}
    assert {gram: final[gram] for gram in repeated} == repeated
    kept = {gram[:depth] for gram in repeated for depth in range(1, len(gram) + 1)}
    assert len(final) == len(kept) and all(final[gram] == expected[gram] for gram in kept)


def test_ids_that_are_written_in_two_ways(tmp_path):
    path = tmp_path / "ids.p"
    path.write_bytes(pickle.dumps({("1", "2"): 2.0, ("01", "2"): 1.0}, 2))
    with pytest.raises(ValueError, match=r"ids\.p: an n-gram of ids stands twice"):
        DocumentFrequencies.from_pickle(str(path), 3, "none")
    path.write_bytes(pickle.dumps({("1", "cat"): 2.0}, 2))
    with pytest.raises(ValueError, match=r"ids\.p: a token is no id: .*'cat'"):
        DocumentFrequencies.from_pickle(str(path), 3, "none")


def test_a_pickle_too_large_is_not_read(tmp_path):
    path = tmp_path / "df.p"
    with open(path, "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ValueError, match=r"df\.p has 1099511627776 bytes, expected a pickle"):
        DocumentFrequencies.from_pickle(str(path), 3)
