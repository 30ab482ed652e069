"""Metric modules for captioning, VQA and image-text retrieval: `load("cider")` is the metric as `evaluate` loads it.

May import: utils.
"""

from pathlib import Path

from .utils.checks import VERSION as __version__

__all__ = ["__version__", "load", "names"]


def names() -> list[str]:
    """The metrics of this package: its folders that have a page.

    >>> names()
    ['bleu4', 'cider', 'entity_score', 'recall_at_k', 'vqa_accuracy']
    """
    return sorted(page.parent.name for page in Path(__file__).parent.glob("*/app.py"))


def load(name: str, **options):
    """Loads a metric of this package, from wherever it is installed.

    Args:
        name: One of `names()`.
        options: Of `evaluate.load`, such as `num_process`.

    Returns:
        The `evaluate.Metric`.

    Raises:
        ValueError: There is no metric of that name.
    """
    import evaluate  # Takes seconds, which nothing else here needs.

    if name not in names():
        raise ValueError(f"name is {name!r}, expected one of {', '.join(names())}")
    return evaluate.load(str(Path(__file__).with_name(name)), **options)
