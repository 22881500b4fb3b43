"""Reports of sanitizers, as GCC 12 and Clang 16 print them, and the variables of a process."""

# ruff: noqa: E501  # lines of reports are long

from __future__ import annotations

import subprocess
import sys

import pytest

from relaxfuzz.fuzz.process.death import key_of, reported
from relaxfuzz.fuzz.process.protocol import Death
from relaxfuzz.fuzz.system.sanitizers import DEFAULTS, report

GCC = """\
a warning of an earlier module
=================================================================
==19069==ERROR: AddressSanitizer: heap-use-after-free on address 0x60200005d09a at pc 0x7f8421afd1a4 bp 0x7ffc1902a0f0 sp 0x7ffc1902a0e8
READ of size 1 at 0x60200005d09a thread T0
    #0 0x7f4539047680 in __interceptor_memcpy ../../../../src/libsanitizer/sanitizer_common/sanitizer_common_interceptors.inc:799
    #1 0x7f8421afd1a3 in std::vector<int, std::allocator<int> >::push_back(int const&) /usr/include/c++/12/bits/stl_vector.h:1287
    #2 0x7f8421afd1a3 in tvm::relax::(anonymous namespace)::Fuser::Visit(tvm::relax::Expr const&) /tvm/src/relax/transform/fuse_ops.cc:30
    #3 0x7f843e966f79  (/lib/x86_64-linux-gnu/libffi.so.8+0x6f79)
    #4 0x7f844015861c in _PyObject_MakeTpCall Objects/call.c:214

0x60200005d09a is located 0 bytes inside of 10-byte region [0x60200005d090,0x60200005d09a)
freed by thread T0 here:
    #0 0x7f8440ab89cf in __interceptor_free ../../../../src/libsanitizer/asan/asan_malloc_linux.cpp:52
    #1 0x7f8421afd15d in tvm::relax::Graph::Clear() /tvm/src/relax/transform/fuse_ops.cc:3

SUMMARY: AddressSanitizer: heap-use-after-free /usr/include/c++/12/bits/stl_vector.h:1287 in std::vector<int, std::allocator<int> >::push_back(int const&)
Shadow bytes around the buggy address:
  0x0c04800039c0: fa fa fd fa fa fa fd fa fa fa fd fa fa fa fd fa
==19069==ABORTING
"""

CLANG = """\
==7==ERROR: AddressSanitizer: attempting double-free on 0x602000000010 in thread T0:
    #0 0x55d1b0 in free (/llvm/lib/clang/16/lib/linux/libclang_rt.asan-x86_64.so+0xa2b) (BuildId: 0f1e)
    #1 0x7f01 in vendor_release (/opt/libvendor.so+0x1129) (BuildId: 8a7b6c)
SUMMARY: AddressSanitizer: double-free (/llvm/lib/clang/16/lib/linux/libclang_rt.asan-x86_64.so+0xa2b) (BuildId: 0f1e) in free
"""

STRIPPED = """\
==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000013 at pc 0x7fba7f047681
    #0 0x7f843e966f79  (/opt/libvendor.so+0x6f79)
SUMMARY: AddressSanitizer: heap-buffer-overflow (/opt/libvendor.so+0x6f79)
"""

UNDEFINED = """\
/tvm/src/arith/rewrite.cc:3:34: runtime error: signed integer overflow: 1 + 2147483647 cannot be represented in type 'int'
    #0 0x56405525e19c in tvm::arith::Add(int) /tvm/src/arith/rewrite.cc:3
    #1 0x7f8b48645249 in __libc_start_call_main ../sysdeps/nptl/libc_start_call_main.h:58

"""

RACE = """\
==================
WARNING: ThreadSanitizer: data race (pid=21592)
  Read of size 4 at 0x561bf9e330ac by thread T2:
    #0 tvm::runtime::Count() /tvm/src/runtime/count.cc:3 (libtvm.so+0x124c)

SUMMARY: ThreadSanitizer: data race /tvm/src/runtime/count.cc:3 in tvm::runtime::Count()
==================
"""


@pytest.mark.parametrize(
    ("stderr", "tool", "key"),
    [
        (GCC, "AddressSanitizer", ("heap-use-after-free", "tvm::relax::Fuser::Visit")),
        (CLANG, "AddressSanitizer", ("double-free", "vendor_release")),
        (STRIPPED, "AddressSanitizer", ("heap-buffer-overflow", "libvendor.so")),
        (
            UNDEFINED,
            "UndefinedBehaviorSanitizer",
            (
                "signed integer overflow: <n> + <n> cannot be represented in type <n>",
                "tvm::arith::Add",
            ),
        ),
        (RACE, "ThreadSanitizer", ("data race", "tvm::runtime::Count")),
    ],
    ids=["gcc", "clang", "stripped", "undefined", "race"],
)
def test_the_key_has_what_is_wrong_and_the_function_near_the_cause(
    stderr: str, tool: str, key: tuple[str, ...]
) -> None:
    found = report(stderr)
    assert found is not None
    assert found.tool == tool
    assert key_of(found) == key
    assert reported(found) is Death.SANITIZER


def test_the_text_has_neither_accidents_nor_the_interpreter() -> None:
    found = report(GCC)
    assert found is not None
    assert found.text.splitlines()[0] == "AddressSanitizer: heap-use-after-free"
    assert found.text.splitlines()[-1].startswith("SUMMARY: ")
    assert "freed by thread T0 here:" in found.text
    for accident in ("19069", "0x7f", "0x60", "_PyObject", "libffi", "Shadow", "a warning"):
        assert accident not in found.text


@pytest.mark.parametrize(
    ("kind", "death"),
    [
        ("SEGV", Death.SEGFAULT),
        ("stack-overflow", Death.SEGFAULT),
        ("FPE", Death.ARITHMETIC),
        ("out-of-memory", Death.OUT_OF_MEMORY),
    ],
)
def test_what_ends_a_process_anyway_is_the_same_death(kind: str, death: Death) -> None:
    text = f"==3==ERROR: AddressSanitizer: {kind} on unknown address 0x0\n"
    found = report(f"{text}SUMMARY: AddressSanitizer: {kind} /tvm/a.cc:7 in main\n==3==ABORTING\n")
    assert found is not None
    assert reported(found) is death


def test_a_report_after_which_the_process_went_on_has_not_ended_it() -> None:
    assert report(f"{UNDEFINED}Fatal Python error: Aborted\n") is None
    assert report("ordinary output: error: AddressSanitizer\n") is None


def test_without_the_sanitizer_no_variable_changes_and_nothing_starts_anew() -> None:
    code = (
        "from relaxfuzz.fuzz.system import sanitizers\n"
        "assert not sanitizers.is_loaded()\n"
        "assert sanitizers.variables() == {}\n"
        "sanitizers.restart_with_variables()\n"
        "print('here')"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "here\n"
    assert set(DEFAULTS) == {"detect_leaks", "allocator_may_return_null"}
