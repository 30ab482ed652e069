"""Malformed pickles, Parquet files and kept files, by name: their bytes, and words of the error that they must get."""

import gzip
import io
import pickle
import struct
from collections import defaultdict

import pyarrow
import pyarrow.parquet

GRAMS = {("a",): 2.0, ("a", "cat"): 1.0}
WHOLE = pickle.dumps({"document_frequency": defaultdict(float, GRAMS), "ref_len": 3}, 2)
WORD, CLASS = b"X\1\0\0\0a", b"ccollections\nCounter\n"
# Of a bare table: a dict, in which a key stands whose value is 1.
KEY = b"}%sK\1s."


def doubled(times):
    """A dict whose key is a tuple of two of the tuple before it, and so on: 2**times words, each written once."""
    tuples = b"".join(b"h%ch%c\x86q%ca" % (i, i, i + 1) for i in range(times))
    return b"]" + WORD + b"q\0a" + tuples + b"}h%cK\1s." % times


def lists(times):
    """A list of lists, each of two of the one before it."""
    return b"]]q\0a" + b"".join(b"]q%ch%cah%caa" % (i + 1, i, i) for i in range(times))


def alters():
    """Sets an attribute of the class itself: `Counter & Counter` is another function after it."""
    return CLASS + b"N}(X\7\0\0\0__and__cbuiltins\nint\nu\x86b0" + pickle.dumps(GRAMS, 2)[2:]


def colliding(count):
    """Integers of one hash, so that each is compared with all before it."""

    def text(number):
        data = number.to_bytes(16, "little", signed=True)
        return b"\x8a\x10" + data

    return b"}(" + b"".join(text(i * (2**61 - 1)) + b"\x85K\1" for i in range(1, count)) + b"u."


INSTRUCTION, CALLS, TUPLE, EARLY, ASKS = "the instruction", "pickle calls", "holds a tuple", "too early", "asks for"
PICKLES = {
    "no byte": (b"", EARLY),
    "one byte": (b"\x80", EARLY),
    "half": (WHOLE[: len(WHOLE) // 2], "no pickle"),
    "no end": (WHOLE[:-1], EARLY),
    "text": (b"a cat sits\n", "no pickle"),
    "gzip": (gzip.compress(WHOLE), INSTRUCTION),
    "zip": (b"PK\3\4" + bytes(100), INSTRUCTION),
    "JSON": (b'{"a": 1}', INSTRUCTION),
    "nothing on the stack": (b".", "one value"),
    "two values": (b"}}.", "one value"),
    "an open mark": (b"(}.", "one value"),
    "a pickle behind": (WHOLE + WHOLE, "one value"),
    "protocol 6": (b"\x80\6}.", "protocol 6"),
    "a class that is altered": (alters(), TUPLE),
    "state of a class": (CLASS + b"}(X\7\0\0\0__and__NubN.", INSTRUCTION),
    "state of a dict": (b"}}b.", INSTRUCTION),
    "state of a Counter": (CLASS + b")R}b.", INSTRUCTION),
    "a function": (b"cos\nsystem\n(S'true'\ntR.", r"asks for os\.system"),
    "a function of protocol 4": (pickle.dumps(print, 4), r"asks for builtins\.print"),
    "a dotted name": (b"\x80\4\x8c\x0bcollections\x8c\x0eCounter.update\x93.", ASKS),
    "a dotted module": (b"ccollections.abc\nMapping\n.", ASKS),
    "a class in another module": (b"c__main__\nCounter\n.", ASKS),
    "a name of two lines": (b"\x8c\1\n\x8c\5\x1b[2J\n\x93.", ASKS),
    "a name of 50,000 letters": (b"\x8c\1aX\x50\xc3\0\0" + b"x" * 50_000 + b"\x93.", ASKS),
    "a name that is none": (b"K\1K\2\x93.", ASKS),
    "int called": (b"c__builtin__\nint\n(S'1'\ntR.", CALLS),
    "str called": (b"c__builtin__\nstr\n(I5\ntR.", CALLS),
    "set called": (b"c__builtin__\nset\n(]tR.", CALLS),
    "a list called": (b"])R.", CALLS),
    "a Counter of numbers": (CLASS + b"K\5\x85R.", CALLS),
    "an OrderedDict of no pairs": (b"ccollections\nOrderedDict\n]K\1a\x85R.", "anything but pairs"),
    "a class as the whole": (CLASS + b".", "expected a dict"),
    "a class as a key": (KEY % CLASS, "the key"),
    "a class as N": (
        b"}(X\x12\0\0\0document_frequency" + pickle.dumps(GRAMS, 2)[2:-1] + b"X\7\0\0\0ref_len" + CLASS + b"u.",
        r"ref_len \(N\) is",
    ),
    "NEWOBJ": (CLASS + b")\x81.", INSTRUCTION),
    "NEWOBJ_EX": (CLASS + b")}\x92.", INSTRUCTION),
    "INST": (b"(icollections\nCounter\n.", INSTRUCTION),
    "OBJ": (b"(" + CLASS + b"o.", INSTRUCTION),
    "an object of Python 2": (b"ccopy_reg\n_reconstructor\n(c__builtin__\nobject\nc__builtin__\nobject\nNtR.", ASKS),
    "extension of 1 byte": (b"\x82\1.", INSTRUCTION),
    "extension of 2 bytes": (b"\x83\1\0.", INSTRUCTION),
    "extension of 4 bytes": (b"\x84\1\0\0\0.", INSTRUCTION),
    "a persistent id": (b"Pname\n.", INSTRUCTION),
    "a persistent id of a value": (b"K\1Q.", INSTRUCTION),
    "an outer buffer": (b"\x97.", INSTRUCTION),
    "a byte array": (b"\x96" + struct.pack("<Q", 2**60) + b".", INSTRUCTION),
    "bytes of 2**60": (b"\x8e" + struct.pack("<Q", 2**60) + b".", INSTRUCTION),
    "a text of 2**60": (b"\x8d" + struct.pack("<Q", 2**60) + b".", "a text of 1152921504606846976 bytes"),
    "a text of 2**64 - 1": (b"\x8d" + b"\xff" * 8 + b".", "a text of 18446744073709551615 bytes"),
    "a text of 2**32 - 1": (b"X\xff\xff\xff\xffa.", "a text of 4294967295 bytes"),
    "a text of 2**31 of Python 2": (b"T\0\0\0\x80a.", "a text of 2147483648 bytes"),
    "a text of a megabyte": (KEY % (b"X" + struct.pack("<L", 1 << 20) + b"a" * (1 << 20)), "a text of 1048576"),
    "a text that is cut": (b"X\5\0\0\0abc", "a text of 5 bytes"),
    "a text of broken UTF-8": (KEY % b"U\1\xff\x85", "decode"),
    "a text without its quote": (KEY % b"S'a\n\x85", "in quotes"),
    "a text without its line": (b"S'a'", "no line"),
    "a line of a megabyte": (b"V" + b"a" * (1 << 20) + b"\n.", "no line"),
    "an integer of 2**31 bytes": (b"\x8b\xff\xff\xff\x7f1.", INSTRUCTION),
    "an integer of -1 bytes": (b"\x8b\xff\xff\xff\xff1.", INSTRUCTION),
    "an integer of 255 bytes": (KEY % (b"\x8a\xff" + b"\x7f" * 255 + b"\x85"), "too large"),
    "an integer of 400,000 digits": (b"I" + b"9" * 400_000 + b"\n.", "no line"),
    "an integer of 300 digits": (b"L" + b"9" * 300 + b"L\n.", "expected a number"),
    "an integer that is none": (b"Ix\n.", "expected a number"),
    "a number that is none": (b"Fx\n.", "could not convert"),
    "a float that is cut": (b"G\0\0.", "damaged"),
    "a frame of 2**63": (b"\x80\4\x95" + struct.pack("<Q", 2**63) + b"}.", "a frame"),
    "place 2**31 of the memo": (b"}r\0\0\0\x80.", "keeps value 2147483648"),
    "place 2**32 - 1 of the memo": (b"}r\xff\xff\xff\xff.", "keeps value 4294967295"),
    "a place of the memo of 20 digits": (b"}p99999999999999999999\n.", "keeps value 99999999999999999999"),
    "a place of the memo of 5,000 digits": (b"}p" + b"9" * 5000 + b"\n.", "no pickle"),
    "a place of the memo below 0": (b"}p-1\n.", EARLY),
    "a place from behind": (b"}p0\n0g-1\n.", INSTRUCTION),
    "a negative place read": (b"}p0\ng-1\n.", EARLY),
    "a place that nothing fills": (b"h\5.", EARLY),
    "a place left out": (KEY % b"}r\5\0\0\0h\1", "the key"),
    "the memo of nothing": (b"q\0.", EARLY),
    "a tuple 400,000 deep as a key": (KEY % (b")" + b"\x85" * 400_000), TUPLE),
    "marks 400,000 deep": (b"(" * 400_000 + b"t" * 400_000 + b".", "nests"),
    "lists 400,000 deep": (b"]" + b"]" * 400_000 + b"a" * 400_000 + b".", "more containers"),
    "dicts 100,000 deep": (b"}" + (WORD + b"}") * 100_000 + b"s" * 100_000 + b".", "expected a tuple of tokens"),
    "a list in itself": (b"]q\0h\0a.", "expected a dict"),
    "a dict in itself as a frequency": (b"}q\0" + WORD + b"\x85h\0s.", "is dict"),
    "a dict of its own as the table": (b"}q\0X\x12\0\0\0document_frequencyh\0s.", "pass num_images|n-gram"),
    "50 doublings as a key": (doubled(50), TUPLE),
    "50 doublings of protocol 4": (b"\x80\4" + doubled(50), TUPLE),
    "50 lists of two lists": (lists(50) + b".", "expected a dict"),
    "50 lists as a frequency": (b"}" + WORD + b"\x85" + lists(50) + b"s.", "is list, expected a whole number"),
    "50 lists as a table": (b"}X\x12\0\0\0document_frequency" + lists(50) + b"s.", "is list, expected a dict"),
    "integers of one hash": (colliding(30_000), "too large"),
    "a tuple of 100,000 words": (KEY % (b"(" + WORD + b"q\0" + b"h\0" * 100_000 + b"t"), "a tuple of 100001"),
    "a megabyte of dicts": (b"(" + b"}" * (1 << 20) + b"l.", "more containers"),
    "a Counter of one dict, 50,000 times": (
        CLASS
        + b"q\0}q\1("
        + b"".join(b"U\4%04dK\1" % i for i in range(9000))
        + b"u("
        + b"h\0h\1\x85R" * 50_000
        + b"l.",
        "more containers|one value",
    ),
    "a set": (b"\x8f.", INSTRUCTION),
    "a key twice": (b"}(" + (WORD + b"\x85K\1") * 2 + b"u.", "a key twice"),
    "a key twice, one by one": (b"}" + (WORD + b"\x85K\1s") * 2 + b".", "a key twice"),
    "a key without a value": (b"}(" + WORD + b"\x85u.", "without a value"),
    "a list as a key": (KEY % b"]", "the key list"),
    "a list in a key": (KEY % b"]\x85", "damaged"),
    "a number as a key": (KEY % b"K\1", "the key int 1"),
    "a float in a key": (KEY % b"G?\xf0\0\0\0\0\0\0\x85", TUPLE),
    "a text as a key": (KEY % WORD, "expected a tuple of tokens"),
    "an item for a dict": (b"}K\1a.", "adds to dict"),
    "a pair for a list": (b"]" + WORD + b"K\1s.", "adds to list"),
    "items for a number": (b"K\1(" + WORD + b"K\1u.", "adds to int"),
    "a frequency of NaN": (b"}" + WORD + b"\x85Fnan\ns.", "is nan, expected a whole number"),
    "an endless frequency": (b"}" + WORD + b"\x85Finf\ns.", "is inf, expected a whole number"),
    "a frequency of 1e308": (b"}" + WORD + b"\x85F1e308\ns.", "expected 0 to num_images=3"),
    "half a frequency": (b"}" + WORD + b"\x85F0.5\ns.", "is 0.5, expected a whole number"),
    "a truth for a frequency": (b"}" + WORD + b"\x85\x88s.", "is bool"),
    "a text for a frequency": (b"}" + WORD + b"\x85" + WORD + b"s.", "is str"),
    "a frequency above N": (b"}" + WORD + b"\x85K\4s.", "is 4, expected 0 to num_images=3"),
    "a frequency below 0": (b"}" + WORD + b"\x85J\xff\xff\xff\xffs.", "is -1, expected 0"),
    "another N": (pickle.dumps({"document_frequency": GRAMS, "ref_len": 4}), "made of 4 images"),
    "an endless N": (pickle.dumps({"document_frequency": GRAMS, "ref_len": float("inf")}), "made of inf"),
    "a list for N": (pickle.dumps({"document_frequency": GRAMS, "ref_len": [3]}), r"ref_len \(N\) is list"),
    "a list for the table": (pickle.dumps({"document_frequency": [1], "ref_len": 3}), "is list, expected a dict"),
    "another class": (b"cx\nOther\n(}tR.", "asks for x.Other"),
}


def parquet(**columns):
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue()


def with_json(text):
    file, field = io.BytesIO(), pyarrow.field("id", pyarrow.string(), metadata={b"holds": b"json"})
    pyarrow.parquet.write_table(pyarrow.table([pyarrow.array([text])], pyarrow.schema([field])), file)
    return file.getvalue()


GOOD = parquet(similarity=[0.5, 0.25])
DAMAGED = bytearray(GOOD)
DAMAGED[8:40] = b"\xff" * 32
STATISTICS = {
    "no byte": (b"", "no readable"),
    "text": (b"a cat\n" * 9, "no readable"),
    "the magic alone": (b"PAR1", "no readable"),
    "half": (GOOD[: len(GOOD) // 2], "no readable"),
    "gzip": (gzip.compress(GOOD), "no readable"),
    "a footer of 2**31": (GOOD[:-8] + b"\xff\xff\xff\x7fPAR1", "no readable"),
    "a damaged footer": (GOOD[:-40] + b"\xff" * 32 + GOOD[-8:], "no readable"),
    "a damaged page": (bytes(DAMAGED), "no readable"),
    "lists of two lengths": (parquet(x=[[1], [1, 2], [3]]), "no readable"),
    "a broken JSON": (with_json("{"), "no readable"),
    "a JSON of 100,000 brackets": (with_json("[" * 100_000), "no readable"),
    "no JSON": (with_json(None), "no readable"),
}
KEPT = {
    "no byte": (b"", "it has 0 bytes"),
    "no seal": (GOOD * 3, "does not end with a seal"),
    "a seal of nulls": (bytes(200), "does not end with a seal"),
    "a wrong checksum": (GOOD + b"kept-001" + bytes(72), "its checksum"),
}
