"""The differences between versions of TVM: the ground floor, on which everything else stands.

No code outside asks for a version, or uses names that move between versions. The features of the
installed TVM are found by looking for them, once, never by comparing version numbers.

- `release`: the installed TVM, and the check that it can be used at all.
- `torch_hidden`: TVM imported without PyTorch, where nothing needs that.
- `ir`: the classes of IR nodes, and the fields that have changed their names.
- `ops`: the functions of `relax.op` that are needed before anything is built.
- `serialization`: modules as JSON, and structural equality.
- `build`: the identity of the build of TVM.
- `availability`: the parts of relaxfuzz that work on it.
- `drift`: the name, field or parameter that this TVM lacks according to an exception.
"""
