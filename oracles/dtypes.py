"""NumPy's names for TVM's dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np


def dtype_of(name: str) -> np.dtype[Any]:
    """NumPy's dtype of a TVM dtype, bfloat16 and float8 included."""
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def is_short_integer(dtype: np.dtype[Any]) -> bool:
    """An integer of less than a byte: TVM's tensors pack several into one, NumPy's arrays do not.

    `tvm.runtime.tensor` takes no array of more than one.
    """
    return dtype.kind == "V" and dtype.name.lstrip("u").startswith("int")
