"""A Trainer that says which dataset it evaluates.

Its callbacks see a dataloader alone, whose dataset is a new object without the columns that the model does not take;
the dataset itself, or its name, is what the methods that make dataloaders are asked for.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

from .checks import describe


class Evaluated(NamedTuple):
    """What a Trainer evaluates: the dataset as it was passed, and its name among those of `eval_dataset`."""

    name: str | None
    dataset: Any


def watch(trainer, begin: Callable, end: Callable) -> None:
    """Wraps three of a Trainer's methods, so that `begin(evaluated)` comes before its evaluations and `end()` after.

    Args:
        trainer: A Trainer of transformers, or of a class that inherits from it.
        begin: Takes an `Evaluated`, or None where the dataloader is none that the Trainer made.
        end: Called without arguments.

    Raises:
        TypeError: It lacks the methods of a Trainer.
    """
    missing = [name for name in ("get_eval_dataloader", "get_test_dataloader", "evaluation_loop")
               if not hasattr(trainer, name)]  # fmt: skip
    if missing:
        raise TypeError(f"trainer is {describe(trainer)} without {missing[0]}, expected a Trainer of transformers")
    made = WeakKeyDictionary()
    trainer.get_eval_dataloader = _noting(trainer, trainer.get_eval_dataloader, made)
    trainer.get_test_dataloader = _noting(trainer, trainer.get_test_dataloader, made)
    trainer.evaluation_loop = _between(trainer.evaluation_loop, made, begin, end)


def _noting(trainer, original: Callable, made: WeakKeyDictionary) -> Callable:
    @wraps(original)
    def get(*args, **kwargs):
        found = _asked(trainer, args[0] if args else next(iter(kwargs.values()), None))
        loader = original(*args, **kwargs)
        before = made.get(loader) if _is_key(loader) else None
        if before is not None and before.dataset is not found.dataset:
            raise ValueError("the Trainer would evaluate another dataset than it is asked for: with "
                             "dataloader_persistent_workers=True it keeps one dataloader for all that have no name in "
                             "its eval_dataset, expected False or names")  # fmt: skip
        if _is_key(loader):
            made[loader] = found
        return loader

    return get


def _between(original: Callable, made: WeakKeyDictionary, begin: Callable, end: Callable) -> Callable:
    @wraps(original)
    def loop(dataloader, *args, **kwargs):
        found = made.get(dataloader) if _is_key(dataloader) else None
        prefix = kwargs.get("metric_key_prefix", "")
        # So `evaluate({"a": dataset})` names what is not in the Trainer's own eval_dataset.
        if found is not None and found.name is None and prefix.startswith("eval_"):
            found = found._replace(name=prefix.removeprefix("eval_"))
        begin(found)
        try:
            return original(dataloader, *args, **kwargs)
        finally:
            end()

    return loop


def _is_key(loader) -> bool:
    """A method that somebody overrode may return a list of batches, which is no key."""
    try:
        hash(ref(loader))
    except TypeError:
        return False
    return True


def _asked(trainer, asked) -> Evaluated:
    own = getattr(trainer, "eval_dataset", None)
    if isinstance(asked, str):
        return Evaluated(asked, own[asked])
    if asked is None:
        return Evaluated(None, own)
    named = own.items() if isinstance(own, dict) else ()
    return Evaluated(next((name for name, dataset in named if dataset is asked), None), asked)
