"""A comparison as text: for a terminal, and as Markdown."""

import re
from collections import Counter

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
    start = [_line(system["name"]), f"{system['score']:.4f}", _interval(system["confidence_interval"], "")]
    if "difference" not in system:
        return [*start, "", "", "", ""]
    return [
        *start,
        f"{system['difference']:+.4f}",
        _interval(system["difference_interval"], "+"),
        f"{system.get('p_value_holm', system['p_value']):.4f}",
        f"{system['wins']} / {system['ties']} / {system['losses']}",
    ]


def _interval(bounds: list[float], sign: str) -> str:
    return f"{bounds[0]:{sign}.4f} to {bounds[1]:{sign}.4f}"


def method(comparison: dict, metric: dict) -> str:
    """How intervals and p-values were made."""
    units = comparison["items"]
    if comparison["clusters"] is not None:
        units = f"whole images ({comparison['clusters']})"
    holm = ", Holm-corrected" if len(metric["systems"]) > 2 else ""
    return (
        f"{comparison['num_samples']} {comparison['items']}; {comparison['n_resamples']} resamples of {units}, seed "
        f"{comparison['seed']}; p-values of {_TESTS[comparison['test']]}, two-sided{holm}"
    )


def references_text(references: list) -> list[str]:
    """References in one line each; equal answers are counted: `yes (8)`."""
    texts = [str(item["answer"]) if isinstance(item, dict) else str(item) for item in references]
    return [text if count == 1 else f"{text} ({count})" for text, count in Counter(texts).most_common()]


def terminal(comparison: dict, samples: bool) -> str:
    """All tables, columns aligned, and the samples with the largest differences where they are asked for."""
    return "\n\n".join(
        "\n".join([*_aligned([header(comparison, metric), *rows(metric)]), "", metric["signature"],
                   method(comparison, metric), *(_worst_lines(metric) if samples else [])])
        for metric in comparison["metrics"].values()
    )  # fmt: skip


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
            lines += ["", f"{metric['key']} of {system['name']} minus {first['name']}, largest differences"]
        for sample in system["worst"]:
            lines.append(f"  {sample['id']}  {sample['difference']:+.4f}")
            for name, text, score in zip((first["name"], system["name"]), sample["predictions"], sample["scores"]):
                lines.append(f"    {score:.4f}  {name}: {_line(text)}")
            lines += [f"    reference: {_line(text)}" for text in references_text(sample["references"])]
    return lines


def _line(text: str) -> str:
    """One line, and nothing in it that a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in text)


def markdown(comparison: dict, samples: bool) -> str:
    """The same in Markdown."""
    parts = []
    for name, metric in comparison["metrics"].items():
        parts += [f"## {_cell(name)}", _table(header(comparison, metric), rows(metric)),
                  f"`{metric['signature']}`", method(comparison, metric) + "."]  # fmt: skip
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
    return re.sub(r"([\\`*_\[\]<>|#&~])", r"\\\1", _line(text))
