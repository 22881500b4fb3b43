# a transform_params function still returns a tuple of weights

from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main_transform_params(params: R.Tuple(R.Tensor((3, 3), "float32"))):
        weight = params[0]
        return (weight,)


if __name__ == "__main__":
    after = relax.transform.LazyTransformParams()(mod)
    returned = after["main_transform_params"].ret_ty
    assert not returned.fields, f"it returns {returned}"
