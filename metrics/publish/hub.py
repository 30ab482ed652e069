"""A metric as a Space on the Hub: what belongs to it, as a folder of its own, and the way there."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from ..utils.checks import VERSION
from ..utils.whole_files import write_text
from .bundles import METRICS, SOURCES, hand_written

# `evaluate.load` of the checkout, as the documents write it.
_LOCAL_ID = "metrics/{}"
# How the generated files begin, whatever the version.
_GENERATED = "# Generated from metrics/"


def space_files(name: str) -> list[str]:
    """Names of the files of a metric's folder that its Space needs: all but what makes it a part of this package.

    >>> "app.py" in space_files("cider"), "__init__.py" in space_files("cider")
    (True, False)
    """
    modules = {path.name for path in hand_written(METRICS / name)} - {"__init__.py"}
    return sorted([*modules, *(f"{bundle}.py" for bundle in SOURCES), "README.md", "requirements.txt"])


def space_texts(name: str, repo_id: str | None = None) -> dict[str, str]:
    """The files of a Space with their text.

    Args:
        name: The metric.
        repo_id: "user/cider": the examples then load the metric by this name.
    """
    local = f'"{_LOCAL_ID.format(name)}"'
    texts = {file: (METRICS / name / file).read_text(encoding="utf-8") for file in space_files(name)}
    return {file: text.replace(local, f'"{repo_id}"') if repo_id else text for file, text in texts.items()}


def export(name: str, folder: str | Path, repo_id: str | None = None) -> Path:
    """Writes a metric as a folder that needs nothing else of the repository.

    Args:
        name: The metric.
        folder: Where a folder of the metric's name is made; one from an earlier export is written anew, which is known
            by its generated files and the title of its card.
        repo_id: See `space_texts`.

    Returns:
        The metric's folder; `evaluate.load` takes it.

    Raises:
        ValueError: There is such a folder already, and it holds something else.
        OSError: It cannot be written.
    """
    target = Path(folder) / name
    texts = space_texts(name, repo_id)
    foreign = _foreign(target, texts)
    if foreign:
        raise ValueError(f"{target} holds {', '.join(foreign[:5])}, expected an empty folder or an earlier export")
    target.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        write_text(target / file, text)
    return target


def _foreign(target: Path, texts: Mapping[str, str]) -> list[str]:
    """Names of what a folder holds that no export wrote: other files, and others' files under these names."""
    found = {path.name for path in target.glob("*")} - {"__pycache__"}
    changed = [name for name in texts if name in found and _content(target / name) != texts[name]]
    if all(_content(target / f"{bundle}.py").startswith(_GENERATED) for bundle in SOURCES):
        # An export, perhaps by another version. Its card has a header, which begins with the title.
        title, card = texts["README.md"].splitlines()[:2], _content(target / "README.md")
        changed = ["README.md"] if "README.md" in changed and card.splitlines()[:2] != title else []
    return sorted((found - texts.keys()).union(changed))


def _content(path: Path) -> str:
    """Text of a file; of what is no file, nothing that an export wrote."""
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def push(name: str, namespace: str, private: bool = False) -> str:
    """Makes the Space where there is none, and uploads what belongs to it. Modules that it no longer has are removed.

    Args:
        name: The metric.
        namespace: A user or an organization of the Hub.
        private: Makes a new Space private; one that exists stays as it is.

    Returns:
        The Space's address.

    Raises:
        ValueError: There is no token, or the Hub refuses the card's header.
        OSError: The Hub cannot be reached, or refuses.
    """
    import huggingface_hub  # Only a push needs it.
    from huggingface_hub.utils import HfHubHTTPError

    if huggingface_hub.get_token() is None:
        raise ValueError("there is no token for the Hub: run `hf auth login`, or set HF_TOKEN to one that may write")
    repo_id = f"{namespace}/{name}"
    space = {"repo_id": repo_id, "repo_type": "space"}
    # Versions of huggingface_hub stand on different HTTP clients, whose errors have this base and are no OSError.
    client_error = HfHubHTTPError.__bases__[0]
    try:
        with tempfile.TemporaryDirectory() as folder:
            staged = export(name, folder, repo_id)
            url = huggingface_hub.create_repo(**space, space_sdk="gradio", private=private or None, exist_ok=True)
            huggingface_hub.upload_folder(
                **space, folder_path=staged, commit_message=f"{name} {VERSION}", delete_patterns="*.py"
            )
    except client_error as error:
        raise OSError(f"{repo_id} could not be pushed: {error}") from error
    return str(url)
