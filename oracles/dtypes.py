"""NumPy's names for TVM's dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np


def dtype_of(name: str) -> np.dtype[Any]:
    """NumPy's dtype of a TVM dtype, bfloat16 and float8 included."""
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def is_short_integer(dtype: np.dtype[Any]) -> bool:
    """True for integers of less than a byte: TVM's tensors pack several into one, NumPy's do not.

    `tvm.runtime.tensor` does not take an array with more than one of them.
    """
    return dtype.kind == "V" and dtype.name.lstrip("u").startswith("int")
