"""Laying out Python expressions, and the prelude lines that they need."""

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

WIDTH = 96
ATOM = 48  # no line break inside a call as short as this
DEEPEST = 14  # a variable cuts deeper nesting: Python allows 200 levels, readers fewer


class Group:
    """`head item, item, ... tail`, on one line if it fits, else one item per line."""

    __slots__ = ("depth", "head", "items", "tail", "width")

    def __init__(self, head: str, items: Sequence["Doc"], tail: str) -> None:
        self.head, self.items, self.tail = head, items, tail
        self.width = len(head) + len(tail) + 2 * max(len(items) - 1, 0)
        self.depth = 1
        for item in items:
            if isinstance(item, str):
                self.width += len(item)
            else:
                self.width += item.width
                self.depth = max(self.depth, item.depth + 1)


Doc: TypeAlias = str | Group


def group(head: str, items: Iterable[Doc], tail: str) -> Doc:
    """A group, or plain text if it is short."""
    made = Group(head, list(items), tail)
    return flat(made) if made.width <= ATOM else made


def call(name: str, *args: Doc) -> Doc:
    """`name(args)`."""
    return group(name + "(", args, ")")


def keyword(name: str, value: Doc, joint: str = "=") -> Doc:
    """`name=value`, as an item of a group."""
    if isinstance(value, str):
        return name + joint + value
    return Group(name + joint + value.head, value.items, value.tail)


def flat(doc: Doc) -> str:
    """The text of `doc` on one line."""
    if isinstance(doc, str):
        return doc
    return doc.head + ", ".join(map(flat, doc.items)) + doc.tail


def layout(doc: Doc, column: int = 0, indent: int = 0) -> str:
    """The text of `doc` whose first character stands at `column`."""
    if isinstance(doc, str):
        return doc
    if column + doc.width <= WIDTH or not doc.items:
        return flat(doc)
    hugged = _hugged(doc, column, indent)
    if hugged is not None:
        return hugged
    inner = indent + 4
    pad = " " * inner
    lines = [pad + layout(item, inner, inner) + "," for item in doc.items]
    return "\n".join([doc.head, *lines, " " * indent + doc.tail])


def _hugged(doc: Group, column: int, indent: int) -> str | None:
    """`head short, short, last(` on one line, if only the last item is long."""
    *others, last = doc.items
    if others and not doc.head.endswith("("):
        return None
    if isinstance(last, str) or not all(isinstance(item, str) for item in others):
        return None
    start = doc.head + "".join(f"{item}, " for item in others)
    if column + len(start) + len(last.head) > WIDTH:
        return None
    return start + layout(last, column + len(start), indent) + doc.tail


# Names that texts may use, and the lines that provide them, the same for TVM 0.25 to 0.27. The text
# has them in this order.
PRELUDE: dict[str, str] = {
    "base64": "import base64",
    "json": "import json",
    "np": "import numpy as np",
    "tvm": "import tvm",
    "relax": "from tvm import relax",
    "tirx": "from tvm import tirx",
    "DictAttrs": "from tvm.ir import DictAttrs",
    "Op": "from tvm.ir import Op",
    "make_node": "from tvm.ir import make_node",
    "R": "from tvm.script import relax as R",
    "T": "from tvm.script import tirx as T",
    "AnyType": 'AnyType = getattr(relax, "ObjectStructInfo", relax.ObjectType)',
    "FuncType": 'FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)',
    "PrimType": 'PrimType = getattr(relax, "PrimStructInfo", tvm.ir.PrimType)',
    "ShapeType": 'ShapeType = getattr(relax, "ShapeStructInfo", relax.ShapeType)',
    "TensorType": 'TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)',
    "TupleType": 'TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)',
    "StringImm": 'StringImm = getattr(relax, "StringImm", None) or tvm.ir.StringImm',
    "prim_string": 'prim_string = getattr(tirx, "StringImm", None) or tvm.ir.StringImm',
    "constant": 'constant = getattr(tvm.ir, "GenericConst", None) or relax.Constant',
    "VDevice": 'VDevice = getattr(relax, "VDevice", None) or tvm.ir.VDevice',
    "prim_value": 'prim_value = getattr(relax, "prim_value", None) or relax.PrimValue',
    "SBlock": 'SBlock = getattr(tirx, "SBlock", None) or tvm.s_tir.SBlock',
    "SBlockRealize": (
        'SBlockRealize = getattr(tirx, "SBlockRealize", None) or tvm.s_tir.SBlockRealize'
    ),
    "MatchBufferRegion": (
        'MatchBufferRegion = getattr(tirx, "MatchBufferRegion", None)'
        " or tvm.s_tir.MatchBufferRegion"
    ),
    **{
        name: f'{name} = getattr(tirx, "{name}", None) or tirx.{old}'
        for name, old in {
            "BitwiseAnd": "bitwise_and",
            "BitwiseOr": "bitwise_or",
            "BitwiseXor": "bitwise_xor",
            "BitwiseNot": "bitwise_not",
            "LShift": "shift_left",
            "RShift": "shift_right",
        }.items()
    },
    "interval": "interval = tvm.ir.Range.from_min_extent",
    "set_type": (
        'set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info'
    ),
    "type_of": 'type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info',
    "typed": """\
def typed(expr, ty):
    set_type(expr, ty)
    return expr""",
    "bind": """\
def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)""",
    "op": """\
def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)""",
    "tuple_of": """\
def tuple_of(ty, fields):
    if not hasattr(relax.Tuple, "ty"):
        return relax.Tuple(fields)
    key = relax.Tuple.__tvm_ffi_type_info__.type_key
    return make_node(key, ty=ty, fields=fields, span=None)""",
    "item_of": """\
def item_of(ty, whole, index):
    if not hasattr(relax.TupleGetItem, "ty"):
        return relax.TupleGetItem(whole, index)
    key = relax.TupleGetItem.__tvm_ffi_type_info__.type_key
    return make_node(key, ty=ty, tuple_value=whole, index=index, span=None)""",
    "buffer": """\
def buffer(shape, dtype, name, **options):
    shape = [T.int64(dim) if isinstance(dim, int) else dim for dim in shape]
    return tirx.decl_buffer(shape, dtype, name, layout=None, **options)""",
    "prim_call": """\
def prim_call(name, args, dtype):
    if name not in Op.list_op_names():
        name = name.replace("prim.", "tirx.")
    if hasattr(tvm.ir, "PrimExpr"):
        return tirx.Call(dtype, Op.get(name), args)
    return tvm.ir.Call(name, args, ret_ty=dtype)""",
    "prim_func": """\
def prim_func(params, body, **options):
    names = [p if isinstance(p, tirx.Var) else tirx.Var(p.name, "handle") for p in params]
    buffers = {name: p for name, p in zip(names, params) if name is not p}
    if buffers:
        options["buffer_map"] = buffers
    return tirx.PrimFunc(names, body, **options)""",
    "stale_func": """\
def stale_func(params, body, attrs, **types):
    if hasattr(tvm.ir, "PrimExpr"):
        return prim_func(params, body, attrs=attrs)
    fields = {"params": params, "body": body, "attrs": attrs, **types, "span": None}
    return make_node("tirx.PrimFunc", **fields)""",
    "dtype_value": """\
def dtype_value(dtype):
    if hasattr(relax, "DataTypeImm"):
        return relax.DataTypeImm(dtype)
    return tvm.ir.GenericConst(tvm.DataType(dtype), relax.AnyType())""",
    "tensor": """\
def tensor(data):
    graph = {"root_index": 0, "nodes": [{"type": "ffi.Tensor", "data": data}]}
    return tvm.ir.load_json(json.dumps(graph))""",
}


def prelude(text: str) -> str:
    """The imports and definitions behind the names in `text`."""
    needed: set[str] = set()

    def need(names: Iterable[str]) -> None:
        for name in names:
            if name in PRELUDE and name not in needed:
                needed.add(name)
                need(_words(PRELUDE[name]))

    need(_words(text))
    lines = [PRELUDE[name] for name in PRELUDE if name in needed]
    values = [line for line in lines if not line.startswith(("import ", "from ", "def "))]
    functions = [line for line in lines if line.startswith("def ")]
    blocks = ["\n".join(_imports(lines)), "\n".join(values), *functions]
    return "\n\n".join(block for block in blocks if block)


def _imports(lines: Iterable[str]) -> list[str]:
    """The imports among `lines`, those from one module together."""
    merged: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith("import "):
            merged[line] = []
        elif line.startswith("from "):
            module, _, name = line.partition(" import ")
            merged.setdefault(module, []).append(name)
    return [
        f"{start} import {', '.join(names)}" if names else start for start, names in merged.items()
    ]


def _words(text: str) -> list[str]:
    """The names that Python code uses, without attributes and the contents of strings."""
    code = re.sub(r"""(?<!\w)(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')""", "", text)
    return re.findall(r"(?<![\w.])[A-Za-z_]\w*", code)
