"""What differs between versions of TVM: the ground floor, which everything else stands on.

Nothing outside asks for a version, or names what moves from one version to the next. What this TVM
has is found out by looking for it, once, never by comparing version numbers.

- `release`: which TVM is installed, and whether it can be used at all.
- `ir`: the classes of IR nodes, and the fields that have changed their names.
- `ops`: the functions of `relax.op` that are needed before anything is built.
- `serialization`: modules as JSON, and structural equality.
- `build`: which build of TVM it is.
- `availability`: what of relaxfuzz works on it.
- `drift`: what an exception says of a name, field or parameter that this TVM lacks.
"""
