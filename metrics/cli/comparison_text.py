"""A comparison as text: for a terminal, and as Markdown."""

import re
from collections import Counter

from ..utils.shown_text import visible

_TESTS = {"bootstrap": "paired bootstrap", "randomization": "approximate randomization"}


def header(comparison: dict, metric: dict) -> list[str]:
    """The columns of a metric's table."""
    interval = f"{100 * comparison['confidence_level']:g} % interval"
    p_value = "p (Holm)" if len(metric["systems"]) > 2 else "p"
    return ["system", metric["key"], interval, "difference", interval, p_value, "wins / ties / losses"]


def rows(metric: dict) -> list[list[str]]:
    """One row per system; the first has no difference."""
    return [_row(system) for system in metric["systems"]]


def _row(system: dict) -> list[str]:
    start = [visible(system["name"]), number(system["score"]), interval(system["confidence_interval"])]
    if "difference" not in system:
        return [*start, "", "", "", ""]
    return [
        *start,
        number(system["difference"], "+"),
        interval(system["difference_interval"], "+"),
        number(system.get("p_value_holm", system["p_value"])),
        f"{system['wins']} / {system['ties']} / {system['losses']}",
    ]


def number(value: float | None, sign: str = "") -> str:
    """Four decimals; a dash where there is no value.

    >>> number(0.5, "+"), number(None)
    ('+0.5000', '-')
    """
    return "-" if value is None else f"{value:{sign}.4f}"


def interval(bounds: list[float | None] | None, sign: str = "") -> str:
    """Both bounds; a dash where they are missing.

    >>> interval([0.25, 1.0]), interval([None, None])
    ('0.2500 to 1.0000', '-')
    """
    return "-" if bounds is None or None in bounds else f"{number(bounds[0], sign)} to {number(bounds[1], sign)}"


def method(comparison: dict, metric: dict) -> str:
    """How intervals and p-values were made."""
    units = comparison["items"]
    if comparison["clusters"] is not None:
        units = f"whole images ({comparison['clusters']})"
    holm = ", Holm-corrected" if len(metric["systems"]) > 2 else ""
    return (
        f"{comparison['num_samples']} {comparison['items']}; {comparison['n_resamples']} resamples of {units}, seed "
        f"{comparison['seed']}; p-values of {_test(comparison, metric)}, two-sided{holm}"
    )


def _test(comparison: dict, metric: dict) -> str:
    is_exact = {system.get("exact", False) for system in metric["systems"][1:] if system["p_value"] is not None}
    return "randomization, all swaps tried" if is_exact == {True} else _TESTS[comparison["test"]]


def remarks(comparison: dict, metric: dict) -> list[str]:
    """Sentences on what the numbers are not: over all samples, or to be trusted where there are few."""
    return [f"{sentence}." for sentence in (*_left_out(comparison, metric), comparison["note"]) if sentence]


def _left_out(comparison: dict, metric: dict) -> list[str]:
    """Who does not score which samples, and on how many each pair is compared."""
    items, total = comparison["items"], comparison["num_samples"]
    first, *others = metric["systems"]
    if all(system["num_scored"] == total for system in metric["systems"]):
        return []
    reason = f" ({comparison['unscored']})" if comparison["unscored"] else ""
    scored = ", ".join(f"{visible(system['name'])} {system['num_scored']}" for system in metric["systems"])
    sentences = [f"Of {total} {items} each score is over those that have one{reason}: {scored}"]
    for system in others:
        one, other, out = visible(first["name"]), visible(system["name"]), system["left_out"]
        sentences.append(
            f"{other} is compared with {one} on the {system['num_compared']} {items} that both score; left out: "
            f"{out['first']} that only {one} leaves unscored, {out['second']} that only {other} does, {out['both']} "
            "that both do"
        )
    return sentences


def references_text(references: list) -> list[str]:
    """References in one line each; equal answers are counted: `yes (8)`."""
    texts = [str(item["answer"]) if isinstance(item, dict) else str(item) for item in references]
    return [text if count == 1 else f"{text} ({count})" for text, count in Counter(texts).most_common()]


def terminal(comparison: dict, samples: bool) -> str:
    """All tables, columns aligned, and the samples with the largest differences where they are asked for."""
    return "\n\n".join(
        "\n".join(
            [
                *_aligned([header(comparison, metric), *rows(metric)]),
                "",
                visible(metric["signature"]),
                method(comparison, metric),
                *remarks(comparison, metric),
                *(_worst_lines(metric) if samples else []),
            ]
        )
        for metric in comparison["metrics"].values()
    )


def _aligned(table: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]).rstrip()
        for row in table
    ]


def _worst_lines(metric: dict) -> list[str]:
    first, *others = metric["systems"]
    lines = []
    for system in others:
        if system["worst"]:
            names = [visible(name) for name in (system["name"], first["name"])]
            lines += ["", f"{metric['key']} of {names[0]} minus {names[1]}, largest differences"]
        for sample in system["worst"]:
            lines.append(f"  {visible(str(sample['id']))}  {sample['difference']:+.4f}")
            for name, text, score in zip((first["name"], system["name"]), sample["predictions"], sample["scores"]):
                lines.append(f"    {score:.4f}  {visible(name)}: {visible(text)}")
            lines += [f"    reference: {visible(text)}" for text in references_text(sample["references"])]
    return lines


def markdown(comparison: dict, samples: bool) -> str:
    """The same in Markdown."""
    parts = []
    for name, metric in comparison["metrics"].items():
        parts += [
            f"## {_cell(name)}",
            _table(header(comparison, metric), rows(metric)),
            f"`{metric['signature']}`",
            method(comparison, metric) + ".",
            *map(_cell, remarks(comparison, metric)),
        ]
        first, *others = metric["systems"]
        for system in others:
            if not samples or not system["worst"]:
                continue
            names = [first["name"], system["name"]]
            parts.append(f"### {_cell(names[1])} minus {_cell(names[0])}, largest differences")
            head = [comparison["id"], "difference", *names, "references"]
            parts.append(_table(head, [_sample(sample) for sample in system["worst"]]))
    return "\n\n".join(parts)


def _sample(sample: dict) -> list[str]:
    texts = [f"{text} ({score:.4f})" for text, score in zip(sample["predictions"], sample["scores"])]
    references = " / ".join(references_text(sample["references"]))
    return [str(sample["id"]), f"{sample['difference']:+.4f}", *texts, references]


def _table(head: list[str], body: list[list[str]]) -> str:
    lines = [[_cell(cell) for cell in row] for row in (head, *body)]
    lines.insert(1, ["---"] + ["---:"] * (len(head) - 1))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    """Text that no reader of Markdown takes for markup."""
    return re.sub(r"([\\`*_\[\]<>|#&~])", r"\\\1", visible(text))
