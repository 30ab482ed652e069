"""The two other measures of short answers: ANLS (DocVQA, ST-VQA) and ChartQA's relaxed accuracy."""

from collections.abc import Iterable

ANLS_THRESHOLD = 0.5
TOLERANCE = 0.05


def anls(prediction: str, answers: Iterable[str]) -> float:
    """Average normalised Levenshtein similarity of one question, as the ICDAR RRC script has it.

    Blanks are collapsed and letters lowered before the distance is taken, but it is divided by the longer of the raw
    lengths. A similarity of exactly 0.5 counts (the paper drops it).

    >>> anls("1400", ["1500"]), anls("ab", ["cd"]), anls("1o", ["no"])
    (0.75, 0.0, 0.5)
    """
    similarity = 1 - min(_normalized_distance(prediction, answer) for answer in answers)
    return similarity if similarity >= ANLS_THRESHOLD else 0.0


def _normalized_distance(prediction: str, answer: str) -> float:
    # The script measures upper-cased texts, which are longer for a few letters (ß).
    length = max(len(answer.upper()), len(prediction.upper()))
    if not length:
        return 0.0
    return levenshtein(collapsed(prediction), collapsed(answer)) / length


def collapsed(text: str) -> str:
    """A text as ANLS compares it: lower case, single blanks.

    >>> collapsed(" New\\tYork ")
    'new york'
    """
    return " ".join(text.lower().split())


def levenshtein(first: str, second: str) -> int:
    """Edit distance, by bit vectors (Myers, 1999, in Hyyrö's form): one step per character of `second`.

    >>> levenshtein("kitten", "sitting"), levenshtein("", "abc")
    (3, 3)
    """
    if first == second or not first or not second:
        return 0 if first == second else len(first) + len(second)
    positions: dict[str, int] = {}
    for i, character in enumerate(first):
        positions[character] = positions.get(character, 0) | 1 << i
    last, mask = 1 << len(first) - 1, (1 << len(first)) - 1
    plus, minus, distance = mask, 0, len(first)
    for character in second:
        equal = positions.get(character, 0)
        diagonal = ((equal & plus) + plus ^ plus) | equal | minus
        up, down = minus | ~(diagonal | plus) & mask, plus & diagonal
        distance += bool(up & last) - bool(down & last)
        up, down = up << 1 | 1, down << 1
        plus, minus = (down | ~(diagonal | up)) & mask, up & diagonal & mask
    return distance


def relaxed_accuracy(prediction: str, targets: Iterable[str]) -> float:
    """ChartQA's relaxed accuracy: 1.0 where the prediction is at most 5 % off a target.

    Both must be numbers ("%" divides by 100) and the target not 0; all else is equality of lower-cased texts.

    >>> relaxed_accuracy("95", ["100"]), relaxed_accuracy("100", ["95"]), relaxed_accuracy("0.0", ["0"])
    (1.0, 0.0, 0.0)
    """
    return float(any(_is_close(prediction, target) for target in targets))


def _is_close(prediction: str, target: str) -> bool:
    found, wanted = _number(prediction), _number(target)
    if found is None or not wanted:
        return prediction.lower() == target.lower()
    return abs(found - wanted) / abs(wanted) <= TOLERANCE


def _number(text: str) -> float | None:
    try:
        return float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None
