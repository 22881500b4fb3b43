# KillAfterLastUse: what is used last behind an If is not killed there, and lives until the function returns: the table of last uses is emptied at the end of a branch

import tvm
from tvm import relax
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import KillAfterLastUse
from tvm.script import relax as R, tirx as T

AnyType = getattr(relax, "ObjectStructInfo", relax.ObjectType)
FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
SBlock = getattr(tirx, "SBlock", None) or tvm.s_tir.SBlock
SBlockRealize = getattr(tirx, "SBlockRealize", None) or tvm.s_tir.SBlockRealize
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
StringImm = getattr(relax, "StringImm", None) or tvm.ir.StringImm
prim_value = getattr(relax, "prim_value", None) or relax.PrimValue
interval = tvm.ir.Range.from_min_extent
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def dtype_value(dtype):
    if hasattr(relax, "DataTypeImm"):
        return relax.DataTypeImm(dtype)
    return tvm.ir.GenericConst(tvm.DataType(dtype), relax.AnyType())

ty = TensorType((1, 4, 1, 4), "float16")
x2 = relax.Var("x2", R.Tensor((1, 4, 1, 4), "float16"))
x3 = relax.Var("x3", R.Tensor((), "bool"))
v16 = relax.Var("v16", ty)
storage = relax.Var("storage", AnyType())
shape = relax.ShapeExpr([1, 4, 1, 4])
alloc = relax.Var("alloc", TensorType(shape, "float16"))
ty_1 = TupleType([])
_ = relax.Var("_", ty_1)
multiply1_gv = tvm.ir.GlobalVar("multiply1")
v13 = relax.Var("v13", ty)
storage1 = relax.Var("storage1", AnyType())
shape_1 = relax.ShapeExpr([1, 4, 1, 4])
alloc1 = relax.Var("alloc1", TensorType(shape_1, "float16"))
_1 = relax.Var("_1", ty_1)
v15 = relax.Var("v15", R.Tensor((1, 4, 1, 4), "float16"))
storage2 = relax.Var("storage2", AnyType())
shape_2 = relax.ShapeExpr([2, 1, 3, 6])
alloc2 = relax.Var("alloc2", TensorType(shape_2, "float32"))
expr = make_node(
    "ir.Tuple" if hasattr(tvm.ir, "Tuple") else "relax.expr.Tuple",
    ty=TupleType([R.Tensor((2, 1, 3, 6), "float32"), ty]),
    fields=[alloc2, v16],
    span=None,
)
func = relax.Function(
    [x2, x3],
    relax.SeqExpr(
        [relax.BindingBlock([
            bind(v16, relax.If(
                x3,
                typed(
                    relax.SeqExpr(
                        [relax.BindingBlock([
                            bind(storage, relax.Call(Op.get("relax.memory.alloc_storage"), [
                                relax.ShapeExpr([32]),
                                prim_value(0),
                                StringImm("global"),
                                dtype_value("uint8"),
                            ])),
                            relax.VarBinding(alloc, typed(
                                relax.Call(Op.get("relax.memory.alloc_tensor"), [
                                    storage,
                                    prim_value(0),
                                    shape,
                                    dtype_value("float16"),
                                    prim_value(0),
                                ]),
                                TensorType(shape, "float16"),
                            )),
                            bind(_, relax.Call(multiply1_gv, [x2, x2, alloc])),
                            relax.VarBinding(v13, alloc),
                        ])],
                        v13,
                    ),
                    type_of(v13),
                ),
                typed(
                    relax.SeqExpr(
                        [relax.BindingBlock([
                            bind(storage1, relax.Call(Op.get("relax.memory.alloc_storage"), [
                                relax.ShapeExpr([32]),
                                prim_value(0),
                                StringImm("global"),
                                dtype_value("uint8"),
                            ])),
                            relax.VarBinding(alloc1, typed(
                                relax.Call(Op.get("relax.memory.alloc_tensor"), [
                                    storage1,
                                    prim_value(0),
                                    shape_1,
                                    dtype_value("float16"),
                                    prim_value(0),
                                ]),
                                TensorType(shape_1, "float16"),
                            )),
                            bind(_1, relax.Call(multiply1_gv, [x2, x2, alloc1])),
                            relax.VarBinding(v15, alloc1),
                        ])],
                        v15,
                    ),
                    type_of(v15),
                ),
            )),
            bind(storage2, relax.Call(Op.get("relax.memory.alloc_storage"), [
                relax.ShapeExpr([144]),
                prim_value(0),
                StringImm("global"),
                dtype_value("uint8"),
            ])),
            relax.VarBinding(alloc2, typed(
                relax.Call(Op.get("relax.memory.alloc_tensor"), [
                    storage2,
                    prim_value(0),
                    shape_2,
                    dtype_value("float32"),
                    prim_value(0),
                ]),
                TensorType(shape_2, "float32"),
            )),
        ])],
        expr,
    ),
    type_of(expr),
    True,
    DictAttrs({"global_symbol": "func", "relax.force_pure": True}),
)
set_type(func.body, type_of(expr))

x2_1 = tirx.decl_buffer(
    [T.int64(1), T.int64(4), T.int64(1), T.int64(4)],
    "float16",
    "x2",
    layout=None,
)
x2_2 = tirx.decl_buffer(
    [T.int64(1), T.int64(4), T.int64(1), T.int64(4)],
    "float16",
    "x2",
    layout=None,
)
T_multiply = tirx.decl_buffer(
    [T.int64(1), T.int64(4), T.int64(1), T.int64(4)],
    "float16",
    "T_multiply",
    layout=None,
)
ax0 = tirx.Var("ax0", "int64")
ax1 = tirx.Var("ax1", "int64")
ax2 = tirx.Var("ax2", "int64")
ax3 = tirx.Var("ax3", "int64")
v_ax0 = tirx.Var("v_ax0", "int64")
v_ax1 = tirx.Var("v_ax1", "int64")
v_ax2 = tirx.Var("v_ax2", "int64")
v_ax3 = tirx.Var("v_ax3", "int64")
multiply1 = make_node(
    "tirx.PrimFunc",
    ty=FuncType(
        [
            R.Tensor((1, 4, 1, 4), "float16"),
            R.Tensor((1, 4, 1, 4), "float16"),
            R.Tensor((1, 4, 1, 4), "float16"),
        ],
        ty_1,
        False,
    ),
    attrs=DictAttrs({}),
    params=[x2_1, x2_2, T_multiply],
    ret_type=TupleType([]),
    body=SBlockRealize([], True, SBlock([], [], [], "root", tirx.For(
        ax0,
        T.int64(0),
        T.int64(1),
        tirx.ForKind.SERIAL,
        tirx.For(ax1, T.int64(0), T.int64(4), tirx.ForKind.SERIAL, tirx.For(
            ax2,
            T.int64(0),
            T.int64(1),
            tirx.ForKind.SERIAL,
            tirx.For(ax3, T.int64(0), T.int64(4), tirx.ForKind.SERIAL, SBlockRealize(
                [ax0, ax1, ax2, ax3],
                True,
                SBlock(
                    [
                        tirx.IterVar(interval(T.int64(0), T.int64(1)), v_ax0, 0),
                        tirx.IterVar(interval(T.int64(0), T.int64(4)), v_ax1, 0),
                        tirx.IterVar(interval(T.int64(0), T.int64(1)), v_ax2, 0),
                        tirx.IterVar(interval(T.int64(0), T.int64(4)), v_ax3, 0),
                    ],
                    [
                        tirx.BufferRegion(x2_1, [
                            interval(v_ax0, T.int64(1)),
                            interval(v_ax1, T.int64(1)),
                            interval(v_ax2, T.int64(1)),
                            interval(v_ax3, T.int64(1)),
                        ]),
                        tirx.BufferRegion(x2_2, [
                            interval(v_ax0, T.int64(1)),
                            interval(v_ax1, T.int64(1)),
                            interval(v_ax2, T.int64(1)),
                            interval(v_ax3, T.int64(1)),
                        ]),
                    ],
                    [tirx.BufferRegion(T_multiply, [
                        interval(v_ax0, T.int64(1)),
                        interval(v_ax1, T.int64(1)),
                        interval(v_ax2, T.int64(1)),
                        interval(v_ax3, T.int64(1)),
                    ])],
                    "T_multiply",
                    tirx.BufferStore(
                        T_multiply,
                        tirx.Mul(
                            tirx.BufferLoad(x2_1, [v_ax0, v_ax1, v_ax2, v_ax3]),
                            tirx.BufferLoad(x2_2, [v_ax0, v_ax1, v_ax2, v_ax3]),
                        ),
                        [v_ax0, v_ax1, v_ax2, v_ax3],
                    ),
                ),
            )),
        )),
    ))),
    span=None,
)

mod = tvm.IRModule({"func": func, multiply1_gv: multiply1})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        KillAfterLastUse(),
    ]
    the_pass = passes[0]

    from types import SimpleNamespace

    import tvm
    import tvm_ffi
    from dataclasses import dataclass
    from dataclasses import field
    from tvm import relax
    from tvm.ir import Op


    def _all_killed(before, after, call):
        """Docstring: "Drop all tensor/storage objects after last use"; what is never used has none."""
        if (problem := _flows(after)) is not None:
            return problem
        for _, func in relax_functions(after):
            results = {var for seq in sequences(func.body) for var in nodes(seq.body, relax.Var)}
            killed = {c.args[0] for c in calls_of(func) if op_name(c) in KILLS}
            used = {var for b in bindings_of(func) for var in nodes(b.value, relax.Var)}
            allocated = {b.var for op in (STORAGE, TENSOR) for b in _bound(func, op)}
            if (allocated & used) - killed - results:
                return "an allocated tensor or storage is never killed"
        return None


    def relax_functions(mod):
        """The module's Relax functions, without PrimFuncs and external functions."""
        return ((gv, f) for gv, f in mod.functions_items() if isinstance(f, relax.Function))


    def _flows(mod):
        for _, func in relax_functions(mod):
            if (problem := _Flow().sequence(func.body)) is not None:
                return problem
        return None


    @dataclass(slots=True)
    class _Flow:
        """Follows a function in the order of execution: what is killed, what shares a storage."""

        killed: object = field(default_factory=set)
        """Variables killed on some path to here."""
        tensors: object = field(default_factory=dict)
        """Tensors made of each storage so far; all but the last of them are overwritten."""
        roots: object = field(default_factory=dict)
        """The tensors whose memory a variable certainly holds."""
        overwritten: object = field(default_factory=set)

        def sequence(self, seq):
            """The first problem in a sequence, on any path through it."""
            for block in seq.blocks:
                for binding in block.bindings:
                    if (problem := self.binding(binding.var, binding.value)) is not None:
                        return problem
            return self.use(seq.body)

        def binding(self, var, value):
            """The first problem in a binding."""
            if isinstance(value, relax.If):
                return self.use(value.cond) or self.branches(value)
            op = op_name(value)
            if op in KILLS:
                return self.kill(value.args[0], op)
            if isinstance(value, relax.Call):
                if (problem := self.use(value)) is not None:
                    return problem
                if op == TENSOR:
                    self.allocate(var, value.args[0])
                elif op in VIEWS:
                    self.roots[var] = self.holds(value.args[0])
            elif isinstance(value, relax.Var | relax.Tuple):
                self.roots[var] = self.holds(value)
            return None

        def branches(self, node):
            """The first problem in a branch; afterwards what happened in either has happened."""
            killed, overwritten = set(self.killed), set(self.overwritten)
            for branch in (node.true_branch, node.false_branch):
                flow = _Flow(set(killed), dict(self.tensors), dict(self.roots), set(overwritten))
                if (problem := flow.sequence(branch)) is not None:
                    return problem
                self.killed |= flow.killed
                self.overwritten |= flow.overwritten
            return None

        def kill(self, var, op):
            if var in self.killed:
                return f"{op} of a variable that is killed already"
            self.killed.add(var)
            return None

        def allocate(self, var, storage):
            earlier = self.tensors.get(storage, [])
            self.overwritten.update(earlier)
            self.tensors[storage] = [*earlier, var]
            self.roots[var] = frozenset((var,))

        def holds(self, value):
            leaves = nodes(value, relax.Var)
            return frozenset().union(*(self.roots.get(leaf, frozenset()) for leaf in leaves))

        def use(self, value):
            what = op_name(value) or type(value).__name__
            for var in nodes(value, relax.Var):
                if var in self.killed:
                    return f"a use in {what} of a variable that is killed already"
                if self.overwritten and not self.overwritten.isdisjoint(self.roots.get(var, ())):
                    return f"a use in {what} of a tensor whose storage another tensor has taken"
            return None


    def op_name(expr):
        """The registered name of the called operator, e.g. "relax.add"; None where none is called."""
        if isinstance(expr, relax.Call):
            op = expr.op
            if isinstance(op, Op):
                return str(op.name)
        return None


    KILLS = frozenset(("relax.memory.kill_tensor", "relax.memory.kill_storage", "relax.vm.kill_object"))


    def nodes(root, *kinds):
        """The nodes of these types, or of types derived from them, inside `root` in post-order.

        A module stands for all of its Relax functions. Every use counts: a shared node comes as often
        as it is used.
        """
        found = []
        visit = (kinds, found.append)
        if isinstance(root, tvm.IRModule):
            for _, func in relax_functions(root):
                tvm_ffi.structural_walk(func, visit)
        else:
            tvm_ffi.structural_walk(root, visit)
        return found


    TENSOR = "relax.memory.alloc_tensor"


    VIEWS = frozenset(("relax.reshape", "relax.memory.view", "relax.memory.ensure_zero_offset"))


    def sequences(seq):
        """The sequence and all nested in it (branches and local functions), outer ones first."""
        yield seq
        for block in seq.blocks:
            for binding in block.bindings:
                value = binding.value
                if isinstance(value, relax.If):
                    yield from sequences(value.true_branch)
                    yield from sequences(value.false_branch)
                elif isinstance(value, relax.Function):
                    yield from sequences(value.body)


    def calls_of(root, op = None):
        """All calls inside a function (or expression, or module); only those of one operator if given.

        Calls of `tirx` operators inside symbolic shapes (`T.shift_left(n, 1)`) are among them.
        """
        calls = nodes(root, relax.Call)
        return calls if op is None else [c for c in calls if op_name(c) == op]


    def bindings_of(root):
        """All bindings inside, in order, those of branches and local functions before their own."""
        return nodes(root, relax.expr.Binding)


    STORAGE = "relax.memory.alloc_storage"


    def _bound(func, op):
        return (b for b in bindings_of(func) if op_name(b.value) == op)


    call = SimpleNamespace(expr='KillAfterLastUse()', config={}, name='KillAfterLastUse')
    wrong = _all_killed(mod, apply(mod), call)
    assert wrong is None, wrong
