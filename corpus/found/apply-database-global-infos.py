# MetaScheduleApplyDatabase: the virtual devices of the module are lost

import tvm
from tvm.relax.transform import MetaScheduleApplyDatabase
from tvm.s_tir import meta_schedule
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    I.module_global_infos({"vdevice": [I.vdevice("llvm")]})

    @R.function
    def main(x: R.Tensor((2,), "float32", "llvm")):
        return x


if __name__ == "__main__":
    with tvm.target.Target("llvm"), meta_schedule.database.MemoryDatabase():
        after = MetaScheduleApplyDatabase()(mod)
    assert "vdevice" in after.global_infos, "the global info vdevice is lost"
