"""Text of files and of users where people read it: what a terminal would obey stands there as a visible escape."""

import re

# Controls (C0, C1), lone surrogates, line and paragraph separators, what turns the direction of writing, and invisible
# tags. Joiners stay: emoji and several scripts are written with them.
_OBEYED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)


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
