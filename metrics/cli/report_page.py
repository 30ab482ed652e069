"""A comparison as one page: tables, plots and samples, readable on a phone, with nothing to fetch from elsewhere.

Text stays HTML and only marks are SVG, stretched to the width there is, so that nothing becomes small on a phone. All
that comes from files is escaped, and the page's policy forbids scripts and connections.
"""

from html import escape
from importlib import resources

from .comparison_text import header, interval, method, number, references_text, remarks, rows
from .pictures import Pictures

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def page(comparison: dict, pictures: Pictures | None = None) -> str:
    """The whole page.

    Args:
        comparison: What `compare` writes as JSON.
        pictures: Of the samples shown; None shows none.

    Raises:
        ValueError: As `Pictures.data_uri`.
    """
    style = resources.files("metrics.cli").joinpath("report_page.css").read_text(encoding="utf-8")
    metrics = comparison["metrics"]
    names, num_systems = ", ".join(metrics), len(next(iter(metrics.values()))["systems"])
    sections = (_section(name, metric, comparison, pictures) for name, metric in metrics.items())
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(names)}: comparison</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>Comparison of {num_systems} systems</h1>\n" + "\n".join(sections) + "\n</main>\n</body>\n</html>"
    )


def _section(name: str, metric: dict, comparison: dict, pictures: Pictures | None) -> str:
    first, *others = metric["systems"]
    parts = [
        f"<h2>{escape(name)}</h2>",
        _table(header(comparison, metric), rows(metric)),
        f'<p class="note"><code>{escape(metric["signature"])}</code><br>{escape(method(comparison, metric))}</p>',
        *(f'<p class="note">{escape(sentence)}</p>' for sentence in remarks(comparison, metric)),
        "<h3>Scores and their intervals</h3>",
        _intervals([(system["name"], system["score"], system["confidence_interval"]) for system in metric["systems"]]),
        f"<h3>Differences to {escape(first['name'])}</h3>",
        _intervals([(s["name"], s["difference"], s["difference_interval"]) for s in others], around_zero=True),
    ]
    for system in others:
        parts += [
            f"<h3>{escape(system['name'])} minus {escape(first['name'])}, per sample</h3>",
            _histogram(system, comparison["items"]),
            *_worst(first, system, comparison["id"], pictures),
        ]
    return f"<section>\n{chr(10).join(parts)}\n</section>"


def _table(head: list[str], body: list[list[str]]) -> str:
    titles = "".join(f'<th scope="col">{escape(title)}</th>' for title in head)
    lines = []
    for name, *cells in body:
        # On a phone each row is a block, and its cells say what they are.
        shown = "".join(
            f'<td data-title="{escape(title)}">{escape(cell)}</td>' if cell else '<td class="none"></td>'
            for title, cell in zip(head[1:], cells)
        )
        lines.append(f'<tr><th scope="row">{escape(name)}</th>{shown}</tr>')
    return f"<table>\n<thead><tr>{titles}</tr></thead>\n<tbody>\n{chr(10).join(lines)}\n</tbody>\n</table>"


def _intervals(entries: list[tuple[str, float | None, list | None]], around_zero: bool = False) -> str:
    """One bar with a dot per system, all on one axis; what has no value is not drawn."""
    entries = [(name, value, bounds or [None, None]) for name, value, bounds in entries]
    values = [value for _, score, bounds in entries for value in (score, *bounds) if value is not None]
    low, high = _range(values or [0.0], around_zero)

    def place(value: float) -> str:
        return f"{100 * (value - low) / (high - low):.3f}"

    axis = '<path class="axis" d="M50 0V20"/>' if around_zero else ""
    lines = []
    for name, value, bounds in entries:
        has_bar = None not in bounds
        bar = f'<path class="bar" d="M{place(bounds[0])} 10H{place(bounds[1])}"/>' if has_bar else ""
        dot = "" if value is None else f'<path class="dot" d="M{place(value)} 10h0"/>'
        words = f"{number(value)}, {interval(bounds)}"
        lines.append(f"<dt>{escape(name)}</dt>\n<dd>{_svg(20, axis + bar + dot, words)}</dd>")
    return f'<dl class="intervals">\n{chr(10).join(lines)}\n<dt></dt><dd>{_scale(low, high)}</dd>\n</dl>'


def _range(values: list[float], around_zero: bool) -> tuple[float, float]:
    """Ends of an axis with some room for the dots."""
    if around_zero:
        limit = 1.04 * max(map(abs, values)) or 1.0
        return -limit, limit
    room = 0.04 * (max(values) - min(values)) or 0.5
    return min(values) - room, max(values) + room


def _histogram(system: dict, items: str) -> str:
    """Bars of the differences, losses left of the middle and wins right of it."""
    counts, edges = system["histogram"]["counts"], system["histogram"]["edges"]
    most, middle = max(counts) or 1, len(counts) // 2
    bars = "".join(
        f'<rect class="{"loss" if place < middle else "win"}" x="{place + 0.05:g}" y="{100 - 100 * count / most:.2f}" '
        f'width="0.9" height="{100 * count / most:.2f}"/>'
        for place, count in enumerate(counts)
        if count
    )
    words = f"{system['wins']} {items} better, {system['losses']} worse, {system['ties']} the same"
    plot = _svg(100, f'{bars}<path class="axis" d="M{middle} 0V100"/>', words, width=len(counts))
    caption = f"<figcaption>{escape(words)} (not drawn); tallest bar {most}</figcaption>"
    return f'<figure class="histogram">\n{plot}\n{_scale(edges[0], edges[-1])}\n{caption}\n</figure>'


def _svg(height: int, marks: str, words: str, width: int = 100) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" preserveAspectRatio="none" role="img" aria-label="{escape(words)}">'
        f"{marks}</svg>"
    )


def _scale(low: float, high: float) -> str:
    marks = "".join(f"<span>{value:.3g}</span>" for value in (low, (low + high) / 2, high))
    return f'<p class="scale">{marks}</p>'


def _worst(first: dict, system: dict, id_name: str, pictures: Pictures | None) -> list[str]:
    if not system["worst"]:
        return []
    names = [first["name"], system["name"]]
    samples = (_sample(sample, names, id_name, pictures) for sample in system["worst"])
    return ["<h4>Largest differences</h4>", f'<ol class="worst">\n{chr(10).join(samples)}\n</ol>']


def _sample(sample: dict, names: list[str], id_name: str, pictures: Pictures | None) -> str:
    uri = pictures.data_uri(sample["image_id"]) if pictures else None
    picture = f'<img src="{uri}" alt="image {escape(str(sample["image_id"]))}" loading="lazy">' if uri else ""
    side = "win" if sample["difference"] > 0 else "loss"
    texts = "".join(
        f'<dt>{escape(name)} <span class="number">{score:.4f}</span></dt><dd>{escape(text) or "<em>empty</em>"}</dd>'
        for name, text, score in zip(names, sample["predictions"], sample["scores"])
    )
    references = "".join(f"<li>{escape(text)}</li>" for text in references_text(sample["references"]))
    return (
        f'<li>{picture}<div><p class="id">{id_name} {escape(str(sample["id"]))} '
        f'<span class="number {side}">{sample["difference"]:+.4f}</span></p>'
        f"<dl>{texts}</dl><p>References</p><ul>{references}</ul></div></li>"
    )
