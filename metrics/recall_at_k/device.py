"""The work on blocks on a GPU, for embeddings that are torch tensors there; so torch has been imported already."""

import sys

import numpy as np


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

    def multiply(self, rows: np.ndarray, columns: np.ndarray):
        """rows @ columns.T, a tensor on the device."""
        # The same columns meet many blocks of rows: they are moved once.
        if self._columns is not columns:
            self._columns, self._on_device = columns, self._tensor(columns)
        return self._tensor(rows) @ self._on_device.T

    def put(self, block, places: tuple, values: np.ndarray) -> None:
        """Sets single numbers of a block."""
        block[tuple(map(self._tensor, places))] = self._tensor(values)

    def count(self, block, thresholds: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
        """Counts, for each row (axis 0) or column (axis 1), the numbers above and those equal to its threshold."""
        limits = self._tensor(thresholds if axis else thresholds[:, None])
        counts = (compare(block, limits).sum(dim=1 - axis) for compare in (self._torch.gt, self._torch.eq))
        return tuple(count.cpu().numpy() for count in counts)
