"""A visitor's text as HTML: the one way by which it comes into an error, a warning, a table's cell or a label."""

import html
import re

# Of an error or a warning, which a page shows in a corner.
_MOST_CHARACTERS = 600
# What Markdown reads in a line besides HTML, and what a page would make a link of.
# The hash sign by its number: the loader of evaluate cuts lines at one.
_MARKDOWN = re.compile(r"[\\`*_\[\]()\x23!|~$:]")


def as_html(text) -> str:
    """The text as HTML that shows it as it is, also where the HTML is read as Markdown first.

    >>> as_html("<unk>"), html.unescape(as_html("![x](y)"))
    ('&lt;unk&gt;', '![x](y)')
    """
    return _MARKDOWN.sub(lambda found: f"&\x23{ord(found[0])};", html.escape(str(text)))


def as_sentence(message: str) -> str:
    """A message in one line, of which a long middle is left out, marked by dots.

    >>> as_sentence("one\\n line")
    'one line'
    """
    line = " ".join(message.split())
    half = _MOST_CHARACTERS // 2
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:half]} ... {line[-half:]}"
