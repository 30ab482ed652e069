"""Options checked by kind: what every metric does with its own."""

import numbers


def check_options(orders: dict | None = None, positive: dict | None = None, flags: dict | None = None) -> None:
    """Checks options by kind, each given as name -> value.

    Args:
        orders: Integers of at least 1.
        positive: Finite numbers above 0.
        flags: True or False.

    Raises:
        ValueError: One is of another kind; the message names it.

    >>> check_options(orders={"n": 0})
    Traceback (most recent call last):
        ...
    ValueError: n is 0, expected an integer of at least 1
    """
    for name, value in (orders or {}).items():
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
            raise ValueError(f"{name} is {value!r}, expected an integer of at least 1")
    for name, value in (positive or {}).items():
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 < value < float("inf"):
            raise ValueError(f"{name} is {value!r}, expected a positive number")
    for name, value in (flags or {}).items():
        if not isinstance(value, bool):
            raise ValueError(f"{name} is {value!r}, expected True or False")
