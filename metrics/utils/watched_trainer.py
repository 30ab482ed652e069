"""A Trainer that says which dataset it evaluates.

Its callbacks see a dataloader alone, whose dataset is a new object without the columns that the model does not take;
the dataset itself, or its name, is what the methods that make dataloaders are asked for.
"""

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

from .checks import describe
from .portable import Portable


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
    missing = [
        name
        for name in ("get_eval_dataloader", "get_test_dataloader", "evaluation_loop")
        if not hasattr(trainer, name)
    ]
    if missing:
        raise TypeError(f"trainer is {describe(trainer)} without {missing[0]}, expected a Trainer of transformers")
    made = _Dataloaders()
    trainer.get_eval_dataloader = _Noting(trainer.get_eval_dataloader, trainer, made)
    trainer.get_test_dataloader = _Noting(trainer.get_test_dataloader, trainer, made)
    trainer.evaluation_loop = _Between(trainer.evaluation_loop, made, begin, end)


class _Dataloaders(Portable):
    """What each dataloader that a Trainer made is of; a copy begins without, since they stay in their process."""

    def __init__(self):
        self._found = WeakKeyDictionary()

    def __getstate__(self):
        return {}

    def __setstate__(self, state):
        self.__init__()

    def get(self, loader) -> Evaluated | None:
        return self._found.get(loader) if _is_key(loader) else None

    def put(self, loader, found: Evaluated) -> None:
        if _is_key(loader):
            self._found[loader] = found


class _Noting(Portable):
    """A Trainer's method that makes dataloaders, and notes what each is of.

    A class, since what is defined inside a function cannot be pickled: a Trainer is, by a search of hyperparameters.
    """

    def __init__(self, original: Callable, trainer, made: _Dataloaders):
        self.__wrapped__, self._trainer, self._made = original, trainer, made

    def __call__(self, *args, **kwargs):
        found = _asked(self._trainer, args[0] if args else next(iter(kwargs.values()), None))
        loader = self.__wrapped__(*args, **kwargs)
        before = self._made.get(loader)
        if before is not None and before.dataset is not found.dataset:
            raise ValueError(
                "the Trainer would evaluate another dataset than it is asked for: with "
                "dataloader_persistent_workers=True it keeps one dataloader for all that have no name in "
                "its eval_dataset, expected False or names"
            )
        self._made.put(loader, found)
        return loader


class _Between(Portable):
    """A Trainer's `evaluation_loop` between the two calls."""

    def __init__(self, original: Callable, made: _Dataloaders, begin: Callable, end: Callable):
        self.__wrapped__, self._made, self._begin, self._end = original, made, begin, end

    def __call__(self, dataloader, *args, **kwargs):
        found = self._made.get(dataloader)
        prefix = kwargs.get("metric_key_prefix", "")
        # So `evaluate({"a": dataset})` names what is not in the Trainer's own eval_dataset.
        if found is not None and found.name is None and prefix.startswith("eval_"):
            found = found._replace(name=prefix.removeprefix("eval_"))
        self._begin(found)
        try:
            return self.__wrapped__(dataloader, *args, **kwargs)
        finally:
            self._end()


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
