from hypothesis import given

from relaxfuzz import check_pass, ir_modules

PATTERN = ("matmul", "add", "nn.relu")


@given(ir_modules(ops=[PATTERN], only=[], max_bindings=4))
def test_offload(mod):
    check_pass("acme:offload", mod, exempt=["idempotent"])
