"""Operators whose kernels older releases of TVM get wrong: no test compares with these kernels."""

from __future__ import annotations

from collections.abc import Mapping

from relaxfuzz.compat import release

_OF_0_26 = {
    "dynamic_strided_slice": "it reads outside of its operand, and leaves elements unwritten",
    "image.grid_sample": "of five dimensions with padding by reflection: the process dies",
    "nn.adaptive_avg_pool2d": "the sum begins anew in each row of a window",
    "nn.adaptive_avg_pool3d": "as in two dimensions",
    "vision.roi_align": "with mode 'max', its PrimFunc has a ProducerLoad: it does not compile",
}

FAULTY_KERNELS: Mapping[str, str] = _OF_0_26 if release.is_installed("0.26.0") else {}
"""What is wrong, by operator, on the installed TVM."""
