"""Asking the processor to fetch a row before it is needed.

Training touches rows in random order and would spend most of its time waiting for memory. A prefetch names the row a few triples
ahead and costs one instruction per cache line. It changes no result.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

#: Bytes of a cache line.
LINE = 64
#: How many triples ahead to fetch rows.
AHEAD = 3


@intrinsic
def prefetch_row(typing_context, array, row):
    """Fetch the first four cache lines of ``array[row]``; the processor then fetches the rest by itself.

    `array` is contiguous and two-dimensional.
    """
    signature = types.void(array, row)

    def build(context, builder, signature, arguments):
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, arguments[0])
        index = context.cast(builder, arguments[1], signature.args[1], types.intp)
        strides = cgutils.unpack_tuple(builder, view.strides, kind.ndim)
        byte = ir.IntType(8).as_pointer()
        start = builder.bitcast(view.data, byte)
        start = builder.gep(start, [builder.mul(index, strides[0])])
        integer = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte, integer, integer, integer]),
            "llvm.prefetch.p0",
        )
        for line in range(4):
            address = builder.gep(start, [ir.Constant(ir.IntType(64), line * LINE)])
            builder.call(function, [address, integer(0), integer(3), integer(1)])
        return context.get_dummy_value()

    return signature, build
