"""The work on blocks on a GPU, for embeddings that are torch tensors there; so torch has been imported already.

Vectors are prepared in main memory; what grows with the number of pairs is on the device, but for the few that are
formed again in float64.
"""

import sys

import numpy as np

from .ranks import Pairs


class DeviceArithmetic:
    """What `ranks.Arithmetic` does, on a device of torch.

    Args:
        device: As torch names it.
    """

    def __init__(self, device):
        self._torch, self._device = sys.modules["torch"], device
        self._columns = self._on_device = None

    def _tensor(self, values: np.ndarray):
        return self._torch.from_numpy(np.ascontiguousarray(values)).to(self._device)

    def product_type(self, dtype: np.dtype) -> np.dtype:
        """float64 where torch is told to multiply float32 less exactly (as TF32), else as it is."""
        # Torch has two ways to say so, and answers the older question with an error where the newer one was used.
        precision = getattr(self._torch.backends.cuda.matmul, "fp32_precision", None)
        if precision is None:
            precision = self._torch.get_float32_matmul_precision()
        return dtype if precision in ("none", "ieee", "highest") else np.dtype(np.float64)

    def multiply(self, rows: np.ndarray, columns: np.ndarray):
        """rows @ columns.T, a tensor on the device."""
        # The same columns meet many blocks of rows: they are moved once.
        if self._columns is not columns:
            self._columns, self._on_device = columns, self._tensor(columns)
        return self._tensor(rows) @ self._on_device.T

    def count(
        self, block, lower: np.ndarray, upper: np.ndarray, axis: int, most: int
    ) -> tuple[np.ndarray, np.ndarray, Pairs | None]:
        """Counts, for each row (axis 0) or column (axis 1), the numbers above its upper limit, and those within both.

        Returns:
            Both counts, and the places in the block of what is within; None where these are more than `most`.
        """
        lower, upper = (self._tensor(each if axis else each[:, None]) for each in (lower, upper))
        beyond, within = block > upper, (block >= lower) & (block <= upper)
        above, near = (mask.sum(dim=1 - axis).cpu().numpy() for mask in (beyond, within))
        if near.sum() > most:
            return above, near, None
        return above, near, Pairs(*within.nonzero().cpu().numpy().T)
