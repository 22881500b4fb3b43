# LegalizeOps: resize3d in the layout CDHNW: not enough values to unpack

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2, 2, 2, 2), dtype="float32")) -> R.Tensor((2, 2, 2, 2, 2), dtype="float32"):
        gv: R.Tensor((2, 2, 2, 2, 2), dtype="float32") = R.image.resize3d(x, R.shape([2, 2, 2]), roi=[T.float32(0.0), T.float32(0.0), T.float32(0.0), T.float32(0.0), T.float32(0.0), T.float32(0.0)], layout="CDHNW", method="linear", coordinate_transformation_mode="half_pixel", rounding_method="", cubic_alpha=-0.75, cubic_exclude=0, extrapolation_value=0.0, out_dtype=None)
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
