"""Malformed .npy, .safetensors and .npz files, by name: their bytes, and words of the error that they must get."""

import gzip
import io
import json
import pickle
import struct
import zipfile
from functools import cache

import numpy as np

NUMBERS = np.arange(6, dtype="<f4").tobytes()


def npy(descr="'<f4'", order="False", shape="(2, 3)", data=NUMBERS, version=b"\1\0", header=None, length=None):
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}" if header is None else header
    header = header.encode("utf-8") if isinstance(header, str) else header
    size = (len(header) if length is None else length).to_bytes(2 if version == b"\1\0" else 4, "little")
    return b"\x93NUMPY" + version + size + header + data


def saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


HEADER, KIND, SHAPE, SIZE = "its header is", "expected numbers", "its shape is", "tells of"
ARRAYS = {
    "no byte": (b"", "it begins with"),
    "half a magic": (b"\x93NUM", "it begins with"),
    "the magic alone": (b"\x93NUMPY", "its version is"),
    "another magic": (b"\x93NUMPZ\1\0" + bytes(200), "it begins with"),
    "text": (b"1,2,3\n", "it begins with"),
    "gzip": (gzip.compress(npy()), "it begins with"),
    "pickle": (pickle.dumps([1]), "it begins with"),
    "version 4": (npy(version=b"\4\0"), r"its version is \(4, 0\)"),
    "version 0": (npy(version=b"\0\0"), "its version is"),
    "version 1.1": (npy(version=b"\1\1"), "its version is"),
    "header beyond the file": (npy(length=9000), "it ends in its header"),
    "header of 4 GB": (npy(version=b"\2\0", length=2**32 - 1), "its header has 4294967295 bytes"),
    "header of 60,000 blanks": (npy(header=" " * 60_000), "its header has 60000 bytes"),
    "no header": (npy(header=""), HEADER),
    "cut numbers": (npy(data=NUMBERS[:-1]), SIZE),
    "no number": (npy(data=b""), SIZE),
    "numbers behind": (npy(data=NUMBERS + b"\0"), SIZE),
    "two arrays": (npy() + npy(), SIZE),
    "shape of 2**40": (npy(shape="(1099511627776,)"), SIZE),
    "shape of 2**80": (npy(shape="(1099511627776, 1099511627776)"), SIZE),
    "shape that wraps to 0": (npy(shape="(4294967296, 4294967296)", data=b""), SIZE),
    "empty shape beyond integers": (npy(shape="(0, 9223372036854775808)", data=b""), "no readable"),
    "negative shape": (npy(shape="(-1, 6)"), SHAPE),
    "two negative sides": (npy(shape="(-2, -3)"), SHAPE),
    "fractional shape": (npy(shape="(2.0, 3)"), SHAPE),
    "number for a shape": (npy(shape="(6)"), SHAPE),
    "list for a shape": (npy(shape="[2, 3]"), HEADER),
    "33 axes": (npy(shape=f"({'1, ' * 33})"), SHAPE),
    "digits for a shape": (npy(shape=f"({'9' * 5000},)"), SHAPE),
    "shape of a truth": (npy(shape="(True, 6)"), SHAPE),
    "9,000 parentheses": (npy(shape="(" * 9000), HEADER),
    "9,000 brackets": (npy(header="[" * 9000), HEADER),
    "9,000 signs": (npy(header="-" * 9000), HEADER),
    "a call": (npy(header="__import__('os').system('true')"), HEADER),
    "a call in a shape": (npy(shape="(print(), 3)"), HEADER),
    "objects": (npy(descr="'|O'"), KIND),
    "saved objects": (saved(np.array([{}, None])), KIND),
    "records": (saved(np.zeros(2, [("a", "<f4"), ("b", "<i4")])), HEADER),
    "arrays in arrays": (npy(descr="('<f4', (2, 3))"), HEADER),
    "texts": (saved(np.array(["a", "cat"])), KIND),
    "bytes": (saved(np.array([b"a", b"cat"])), KIND),
    "bits": (saved(np.zeros(2, "V4")), KIND),
    "times": (saved(np.zeros(2, "<M8[ns]")), KIND),
    "floats of 3 bytes": (npy(descr="'<f3'"), KIND),
    "no type": (npy(descr="''"), KIND),
    "a type of 9,000 letters": (npy(descr=f"'{'<f4' * 3000}'"), KIND),
    "a truth for a type": (npy(descr="True"), KIND),
    "a number for an order": (npy(order="1"), HEADER),
    "a text for an order": (npy(order="'True'"), HEADER),
    "no shape": (npy(header="{'descr': '<f4', 'fortran_order': False}"), HEADER),
    "two shapes": (npy(header="{'shape': (1,), 'descr': '<f4', 'fortran_order': False, 'shape': (6,)}"), HEADER),
    "another key": (npy(header="{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'x': 1}"), HEADER),
    "no brace": (npy(header="{'descr': '<f4', 'fortran_order': False, 'shape': (6,)"), HEADER),
    "code behind the brace": (npy(header="{'descr': '<f4', 'fortran_order': False, 'shape': (6,)}; 1"), HEADER),
    "NUL": (npy(header="{'descr': '<f4\0', 'fortran_order': False, 'shape': (6,)}"), KIND),
    "broken UTF-8": (npy(header=b"{'descr': '\xff', 'fortran_order': False, 'shape': (6,)}", version=b"\3\0"), KIND),
}


def tensors(header=None, data=NUMBERS, size=None, **entry):
    if header is None:
        header = {"x": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24], **entry}}
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if size is None else size).to_bytes(8, "little") + text + data


def two(*offsets):
    return tensors({str(i): {"dtype": "F32", "shape": [3], "data_offsets": pair} for i, pair in enumerate(offsets)})


BEGIN, ENTRY, FITS, LIES = "does not begin with a description", "is described by", "not that of its shape", "lies at"
TENSORS = {
    "no byte": (b"", BEGIN),
    "4 bytes": (b"\4\0\0\0", BEGIN),
    "length of 2**63": (tensors(size=2**63), BEGIN),
    "length of 2**64 - 1": (tensors(size=2**64 - 1), BEGIN),
    "length of 2**40": (tensors(size=2**40), BEGIN),
    "length beyond the file by one": (tensors(b"{}", b"", 3), BEGIN),
    "no description": (tensors(b""), BEGIN),
    "broken UTF-8": (tensors(b'{"\xff": 1}'), BEGIN),
    "UTF-16": (tensors('{"x": 1}'.encode("utf-16")), BEGIN),
    "NUL": (tensors(b'{"x": 1}\0'), BEGIN),
    "a list": (tensors([]), BEGIN),
    "a number": (tensors(5), BEGIN),
    "null": (tensors(b"null"), BEGIN),
    "100,000 brackets": (tensors(b"[" * 100_000), BEGIN),
    "100,000 objects": (tensors(b'{"x":' * 100_000), BEGIN),
    "5,000 digits": (tensors(b'{"x": ' + b"9" * 5000 + b"}"), BEGIN),
    "a name twice": (tensors(b'{"x": {}, "x": {}}'), "'x' stands twice"),
    "offsets twice": (tensors(b'{"x": {"dtype": "F32", "data_offsets": 1, "data_offsets": 2}}'), "stands twice"),
    "negative offsets": (tensors(data_offsets=[-24, 0]), ENTRY),
    "offsets into the description": (tensors(data_offsets=[-8, 16]), ENTRY),
    "end before begin": (tensors(data_offsets=[24, 0]), LIES),
    "begin behind 0": (tensors(shape=[5], data_offsets=[4, 24]), LIES),
    "offsets of 2**40": (tensors(shape=[2**38], data_offsets=[0, 2**40]), FITS),
    "offsets of 2**63": (tensors(data_offsets=[0, 2**63]), ENTRY),
    "fractional offsets": (tensors(data_offsets=[0.0, 24.0]), ENTRY),
    "endless offsets": (tensors(data_offsets=[0, float("inf")]), ENTRY),
    "texts for offsets": (tensors(data_offsets=["0", "24"]), ENTRY),
    "one offset": (tensors(data_offsets=[24]), ENTRY),
    "three offsets": (tensors(data_offsets=[0, 24, 24]), ENTRY),
    "truths for offsets": (tensors(data_offsets=[False, True]), ENTRY),
    "no offsets": (tensors(data_offsets=None), ENTRY),
    "overlap": (two([0, 12], [8, 20]), LIES),
    "the same place twice": (two([0, 12], [0, 12]), LIES),
    "a hole": (two([0, 12], [16, 28]), LIES),
    "shape of 2**40": (tensors(shape=[2**40]), FITS),
    "shape that wraps to 6": (tensors(shape=[2**62, 4, 6]), FITS),
    "negative shape": (tensors(shape=[-1, 6]), ENTRY),
    "two negative sides": (tensors(shape=[-2, -3]), ENTRY),
    "fractional shape": (tensors(shape=[2.0, 3]), ENTRY),
    "shape of lists": (tensors(shape=[[2], [3]]), ENTRY),
    "number for a shape": (tensors(shape=6), ENTRY),
    "33 axes": (tensors(shape=[1] * 32 + [6]), ENTRY),
    "no type": (tensors(dtype=None), ENTRY),
    "number for a type": (tensors(dtype=4), ENTRY),
    "another type": (tensors(dtype="F8_E4M3"), "expected a tensor of numbers"),
    "a list for a tensor": (tensors({"x": [1, 2]}), ENTRY),
    "null for a tensor": (tensors({"x": None}), ENTRY),
    "cut numbers": (tensors(data=NUMBERS[:-1]), FITS),
    "numbers behind": (tensors(data=NUMBERS + b"\0"), "describes 24"),
    "no tensor": (tensors({}, b""), "expected one of them"),
    "metadata alone": (tensors({"__metadata__": {"format": "pt"}}, b""), "expected one of them"),
    "a name of two lines": (tensors({"a\nb\x1b[2J": None}), ENTRY),
    "20,000 names": (
        tensors({f"x{i}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for i in range(20_000)}, b""),
        "and 19990 more",
    ),
}


def zipped(members, method=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def patched(content, place, value, mark=b"PK\1\2"):
    """An archive whose directory says something else from a place of its first entry on."""
    start = content.index(mark) + place
    return content[:start] + value + content[start + len(value) :]


def overlapping(times):
    """A directory that names one packed array many times, as bombs without a large entry do."""
    one = zipped([("x000.npy", npy(descr="'|u1'", shape=f"({10**6},)", data=bytes(10**6)))], zipfile.ZIP_DEFLATED)
    start, end = one.index(b"PK\1\2"), one.rindex(b"PK\5\6")
    entry = one[start:end]
    entries = b"".join(entry.replace(b"x000.npy", b"x%03d.npy" % i) for i in range(times))
    counts = struct.pack("<HHLLH", times, times, len(entries), start, 0)
    return one[:start] + entries + one[end : end + 8] + counts


@cache
def bomb():
    size = 72 << 20
    return zipped([("table.npy", npy(descr="'|u1'", shape=f"({size},)", data=bytes(size)))], zipfile.ZIP_DEFLATED)


ONE, NAMED = zipped([("table.npy", npy())]), "expected arrays NAME.npy"
ARCHIVES = {
    "no byte": (b"", "not a zip"),
    "text": (b"PK\3\4 no archive", "not a zip"),
    "an array": (npy(), "not a zip"),
    "gzip": (gzip.compress(ONE), "not a zip"),
    "half": (ONE[: len(ONE) // 2], "not a zip"),
    "the end alone": (ONE[-22:], "no readable"),
    "cut in front": (ONE[40:], "no readable"),
    "encrypted": (patched(ONE, 8, b"\1\0"), "encrypted"),
    "bzip2": (zipped([("table.npy", npy())], zipfile.ZIP_BZIP2), "packed by another way"),
    "lzma": (zipped([("table.npy", npy())], zipfile.ZIP_LZMA), "packed by another way"),
    "method 99": (patched(ONE, 10, b"\x63\0"), "packed by another way"),
    "a folder above": (zipped([("../table.npy", npy())]), NAMED),
    "the root": (zipped([("/etc/table.npy", npy())]), NAMED),
    "a folder": (zipped([("a/table.npy", npy())]), NAMED),
    "a drive": (zipped([("C:table.npy", npy())]), NAMED),
    "a name of two lines": (zipped([("a\n\x1b[2J.npy", npy())]), NAMED),
    "NUL in a name": (patched(patched(ONE, 46, b"tab\0e"), 30, b"tab\0e", b"PK\3\4"), NAMED),
    "no array": (zipped([("table.txt", b"{}")]), NAMED),
    "a name twice": (ONE[: ONE.index(b"PK\1\2")] + zipped([("x.npy", npy())])[: ONE.index(b"PK\1\2")], "not a zip"),
    "checksum": (patched(ONE, 16, b"\0\0\0\0"), "CRC"),
    "length beyond the file": (patched(ONE, 20, struct.pack("<LL", 2**31, 2**31)), "overlap"),
    "length of two kinds": (patched(ONE, 24, struct.pack("<L", 2**31)), "packed by another way"),
    "begins beyond the file": (patched(ONE, 42, struct.pack("<L", 2**31)), "no readable"),
    "damaged packing": (
        patched(zipped([("table.npy", npy())], zipfile.ZIP_DEFLATED), 39, b"\xff" * 9, b"PK\3\4"),
        "no readable",
    ),
    "a bomb": (bomb, "it unpacks to 7549"),
    "a bomb that says less": (lambda: patched(bomb(), 24, struct.pack("<L", 1000)), "CRC"),
    "overlapping arrays": (lambda: overlapping(200), "overlap"),
    "overlapping directory": (patched(ONE, 12, struct.pack("<L", 2**32 - 1), b"PK\5\6"), "no readable"),
    "header of 2**40": (zipped([("table.npy", npy(shape="(1099511627776,)"))]), SIZE),
    "header of objects": (zipped([("table.npy", npy(descr="'|O'"))]), KIND),
    "no header": (zipped([("table.npy", b"")]), "it begins with"),
}


def table(drop=(), **parts):
    """An archive as `DocumentFrequencies.save` writes it, but for some parts."""
    arrays = {"keys_1": np.array([0, 1]), "frequencies_1": np.array([2, 1], np.int32)}
    settings = {
        "format": 1,
        "num_images": 2,
        "n": 1,
        "tokenizer": "whitespace",
        "stem": False,
        "end_token": None,
        "final": False,
        "vocabulary": ["a", "cat"],
    }
    arrays.update({key: value for key, value in parts.items() if key in (*arrays, "keys_2")})
    settings.update({key: value for key, value in parts.items() if key in settings})
    text = parts.get("text", json.dumps(settings).encode())
    file = io.BytesIO()
    arrays["table"] = np.frombuffer(text, np.uint8)
    np.savez(file, **{key: array for key, array in arrays.items() if key not in drop})
    return file.getvalue()


TABLES = {
    "no settings": (table(["table"]), "expected an array named table"),
    "settings that are no JSON": (table(text=b"{format"), "no table"),
    "settings of 100,000 brackets": (table(text=b"[" * 100_000), "no JSON of settings"),
    "settings in a list": (table(text=b"[]"), "no JSON of settings"),
    "a setting twice": (table(text=b'{"n": 1, "n": 2}'), "'n' stands twice"),
    "settings of 5,000 digits": (table(text=b'{"n": ' + b"9" * 5000 + b"}"), "no table"),
    "another format": (table(format=2), "its format is"),
    "no arrays": (table(["keys_1"]), "it lacks keys_1"),
    "n of 10**12": (table(n=10**12), "n is int"),
    "n of 0": (table(n=0), "n is int 0"),
    "n below 0": (table(n=-1), "n is int -1"),
    "a truth for n": (table(n=True), "n is bool"),
    "a text for n": (table(n="1"), "n is str"),
    "n beyond the arrays": (table(n=2), "it lacks keys_2"),
    "no image": (table(num_images=0), "num_images is int 0"),
    "a truth for the images": (table(num_images=True, frequencies_1=np.array([1, 1])), "num_images is bool"),
    "a fraction of images": (table(num_images=2.5), "num_images is float"),
    "a text for the vocabulary": (table(vocabulary="ac"), "vocabulary"),
    "no vocabulary": (table(vocabulary=None), "vocabulary"),
    "a dict for the vocabulary": (table(vocabulary={"a": 1, "cat": 2}), "vocabulary"),
    "lists in the vocabulary": (table(vocabulary=[["a"], ["cat"]]), "vocabulary"),
    "a token twice": (table(vocabulary=["a", "a"]), "vocabulary holds a token twice"),
    "too few tokens": (table(vocabulary=["a"]), "keys_1 are 0 to 1"),
    "keys below 0": (table(keys_1=np.array([-1, 1])), "keys_1 are -1 to 1"),
    "keys beyond the tokens": (table(keys_1=np.array([0, 2**40])), "keys_1 are 0 to 1099511627776"),
    "keys out of order": (table(keys_1=np.array([1, 0])), "not ascending"),
    "a key twice": (table(keys_1=np.array([1, 1])), "not ascending"),
    "fractional keys": (table(keys_1=np.array([0.0, 1.0])), "not ascending"),
    "keys in a table": (table(keys_1=np.array([[0, 1]])), "not ascending"),
    "one key": (table(keys_1=np.array(0)), "not ascending"),
    "fewer frequencies": (table(frequencies_1=np.array([2])), "not ascending"),
    "frequencies above the images": (table(frequencies_1=np.array([2, 3])), "is 3, expected 0 to num_images=2"),
    "frequencies below 0": (table(frequencies_1=np.array([2, -1])), "is -1, expected 0"),
    "a number for the tokenizer": (table(tokenizer=5), "tokenizer is int 5"),
    "a number for stem": (table(stem=1), "stem is int 1"),
    "a text for final": (table(final="no"), "final is str"),
    "an end token of ids": (table(end_token=3), "end_token is int 3"),
}
