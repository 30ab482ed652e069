"""Text of files and of users where people read it: what a terminal would obey stands there as a visible escape."""

import re
from reprlib import Repr

# Controls (C0, C1), lone surrogates, line and paragraph separators, what turns the direction of writing, and invisible
# tags. Joiners stay: emoji and several scripts are written with them.
_OBEYED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
_LONGEST_INT_BITS = 512


def visible(text: str) -> str:
    r"""Text in one line, with nothing in it that a terminal would obey or could not show.

    Args:
        text: Any text, such as an id, a caption, a label, a path or a message with them.

    Returns:
        The text; control characters, also those that turn the direction of writing, as their Python escapes.

    >>> print(visible("a cat\x1b[2J, un café\n"))
    a cat\x1b[2J, un café\n
    """
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class _Brief(Repr):
    """`repr` that looks at no more of a value than it shows, and goes no deeper than a few levels."""

    def __init__(self, most: int):
        super().__init__()
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = self.maxarray = most
        self.maxother = self.maxlong = 4 * most
        self.most = most

    def repr_str(self, text: str, level: int) -> str:
        return repr(text[: self.most])

    def repr_bytes(self, text: bytes, level: int) -> str:
        return repr(text[: self.most])

    def repr_int(self, number: int, level: int) -> str:
        # Python refuses to write thousands of digits.
        bits = number.bit_length()
        return repr(number) if bits <= _LONGEST_INT_BITS else f"<an integer of {bits} bits>"

    def repr_dict(self, values: dict, level: int) -> str:
        if level <= 0:
            return "{...}" if values else "{}"
        pairs = [
            f"{self.repr1(key, level - 1)}: {self.repr1(value, level - 1)}"
            for key, value, _ in zip(values, values.values(), range(self.most))
        ]
        return "{" + ", ".join(pairs + ["..."] * (len(values) > self.most)) + "}"


def brief(value, most: int = 60) -> str:
    """`repr` of a value, cut off: of any size, and nested as deep as it may be.

    Args:
        value: What was found.
        most: Length of the result.

    >>> brief(["a cat"]), brief({"caption": "a" * 100}, 20)
    ("['a cat']", "{'caption': 'aaaa...")
    """
    text = _Brief(most).repr(value)
    return text if len(text) <= most else text[: most - 3] + "..."
