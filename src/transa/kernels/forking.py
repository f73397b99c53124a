"""Parallel kernels in a forked process.

Numba ends a forked process that starts a parallel loop on GNU OpenMP, since that would wait for ever. Every parallel loop of a kernel
calls one function, which is found by name when the kernel is linked. We put a function of our own in its place: it hands the loop to
OpenMP, or in a forked process does all of it on the calling thread. Both run the same compiled code, and results are the same bits.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numba
from llvmlite import binding, ir

from transa.forked import FORKED

#: The function that all parallel loops call, by numba's name for it, and ours.
THEIRS, OURS = "numba_parallel_for", "transa_parallel_for"


@cache
def survive_forks() -> Any:
    """Make parallel kernels that are linked from now on work in forked processes; return the code that does it, if it is needed."""
    numba.get_num_threads()  # loads the threading layer
    if numba.threading_layer() != "omp":  # the others work in forked processes by themselves
        return None
    code = _compiled(binding.address_of_symbol(THEIRS))
    binding.add_symbol(THEIRS, code.get_function_address(OURS))
    return code


def _compiled(openmp: int) -> Any:
    """Return compiled code with our function, given the address of OpenMP's.

    Both take the body of a loop, its four arguments (addresses of arrays, sizes, steps and data), and the numbers of inner dimensions,
    of arrays and of threads.
    """
    nothing, word, byte = ir.VoidType(), ir.IntType(64), ir.IntType(8)
    kind = ir.FunctionType(nothing, [*[word] * 7, ir.IntType(32)])
    module = ir.Module()
    function = ir.Function(module, kind, OURS)
    builder = ir.IRBuilder(function.append_basic_block())
    forked = builder.load(builder.inttoptr(word(ctypes.addressof(FORKED)), byte.as_pointer()))
    with builder.if_then(builder.icmp_unsigned("!=", forked, byte(0))):
        body = builder.inttoptr(function.args[0], ir.FunctionType(nothing, [word] * 4).as_pointer())
        builder.call(body, function.args[1:5])
        builder.ret_void()
    builder.call(builder.inttoptr(word(openmp), kind.as_pointer()), function.args)
    builder.ret_void()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(jit=True)
    code = binding.create_mcjit_compiler(binding.parse_assembly(str(module)), machine)
    code.finalize_object()
    return code
