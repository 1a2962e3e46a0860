"""Rows of numbers that stay in the processor's registers: what numba's loops lack to be as fast as the hardware allows.

`Lanes` is a numba type: `parts` vectors of eight numbers, known at compile time. The functions below are numba
intrinsics, so they can be called from compiled loops only. They do not check indices.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel.models import PrimitiveModel
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import register_model

EIGHT = 8  # numbers of a vector: one register of AVX2 in float32, two in float64
FUSED = ("contract",)  # a product and a sum may become one instruction
Builder = Any
intrinsic: Any = numba_intrinsic  # callers do not give the first argument, which type checkers do not know


class Lanes(types.Type):
    """`parts` vectors of eight numbers each."""

    def __init__(self, number: types.Type, parts: int) -> None:
        self.number, self.parts = number, parts
        super().__init__(name=f"Lanes({number}, {parts})")


class Quad(types.Type):
    """Four numbers in one vector."""

    def __init__(self, number: types.Type) -> None:
        self.number = number
        super().__init__(name=f"Quad({number})")


@register_model(Lanes)
class LanesModel(PrimitiveModel):
    """Lanes are an array of vectors in LLVM."""

    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, ir.ArrayType(_vector(kind.number, EIGHT), kind.parts))


@register_model(Quad)
class QuadModel(PrimitiveModel):
    """A quad is one vector in LLVM."""

    def __init__(self, manager: Any, kind: Quad) -> None:
        super().__init__(manager, kind, _vector(kind.number, 4))


def _vector(number: types.Type, size: int) -> ir.VectorType:
    return ir.VectorType(ir.DoubleType() if number == types.float64 else ir.FloatType(), size)


@intrinsic
def pick(_: Any, array: Any, place: Any) -> Any:
    """array[place] for a place that is not negative."""

    def generate(context: Any, builder: Builder, signature: Any, args: Any) -> Any:
        index = context.cast(builder, args[1], place, types.intp)
        return builder.load(builder.gep(_data(context, builder, array, args[0]), [index]))

    return array.dtype(array, place), generate


@intrinsic
def load(_: Any, array: Any, row: Any, first: Any, parts: Any) -> Any:
    """The numbers first, first + 1, … of a row of a matrix; there are as many vectors as the tuple `parts` is long."""
    kind = Lanes(array.dtype, parts.count)

    def generate(context: Any, builder: Builder, signature: Any, args: Any) -> Any:
        found = ir.Constant(context.get_value_type(kind), ir.Undefined)
        for part, place in enumerate(_places(context, builder, kind, array, row, first, args)):
            vector = builder.load(place)
            vector.align = 4
            found = builder.insert_value(found, vector, part)
        return found

    return kind(array, row, first, parts), generate


@intrinsic
def store(_: Any, array: Any, row: Any, first: Any, lanes: Any) -> Any:
    """Writes what `load` reads."""

    def generate(context: Any, builder: Builder, signature: Any, args: Any) -> Any:
        for part, place in enumerate(_places(context, builder, lanes, array, row, first, args)):
            builder.store(builder.extract_value(args[3], part), place).align = 4
        return context.get_dummy_value()

    return types.void(array, row, first, lanes), generate


@intrinsic
def fill(_: Any, number: Any, parts: Any) -> Any:
    """Lanes that all hold one number."""
    kind = Lanes(number, parts.count)

    def generate(context: Any, builder: Builder, signature: Any, args: Any) -> Any:
        vector, found = _spread(builder, args[0], EIGHT), ir.Constant(context.get_value_type(kind), ir.Undefined)
        for part in range(kind.parts):
            found = builder.insert_value(found, vector, part)
        return found

    return kind(number, parts), generate


@intrinsic
def add(_: Any, left: Any, right: Any) -> Any:
    """left + right."""

    def generate(context: Any, builder: Builder, signature: Any, args: Any) -> Any:
        return _map(builder, left, builder.fadd, args)

    return left(left, right), generate


@intrinsic
def add_scaled(_: Any, scale: Any, lanes: Any, total: Any) -> Any:
    """scale·lanes + total for a number `scale`."""

    def generate(context: Any, builder: Builder, signature: Any, args: Any) -> Any:
        factor = _spread(builder, args[0], EIGHT)
        return _map(builder, lanes, lambda item, rest: _fuse(builder, factor, item, rest), args[1:])

    return lanes(scale, lanes, total), generate


@intrinsic
def multiply(_: Any, left: Any, right: Any) -> Any:
    """The sums over the vectors of left ⊙ right: one vector, whose sum is the inner product."""

    def generate(context: Any, builder: Builder, signature: Any, args: Any) -> Any:
        pairs = [[builder.extract_value(item, part) for item in args] for part in range(left.parts)]
        found = builder.fmul(pairs[0][0], pairs[0][1])
        for pair in pairs[1:]:
            found = _fuse(builder, pair[0], pair[1], found)
        whole = ir.Constant(ir.ArrayType(found.type, 1), ir.Undefined)
        return builder.insert_value(whole, found, 0)

    return Lanes(left.number, 1)(left, right), generate


@intrinsic
def product(_: Any, left: Any, right: Any) -> Any:
    """left ⊙ right."""

    def generate(context: Any, builder: Builder, signature: Any, args: Any) -> Any:
        return _map(builder, left, builder.fmul, args)

    return left(left, right), generate


@intrinsic
def clip(_: Any, low: Any, lanes: Any) -> Any:
    """max(low, lanes); what is not a number stays so."""

    def generate(context: Any, builder: Builder, signature: Any, args: Any) -> Any:
        least = _spread(builder, args[0], EIGHT)

        def choose(item: Any) -> Any:
            return builder.select(builder.fcmp_ordered("<", item, least), least, item)

        return _map(builder, lanes, choose, args[1:])

    return lanes(low, lanes), generate


@intrinsic
def select(_: Any, low: Any, lanes: Any, values: Any) -> Any:
    """`values` where lanes > low, otherwise 0."""

    def generate(context: Any, builder: Builder, signature: Any, args: Any) -> Any:
        least = _spread(builder, args[0], EIGHT)

        def choose(item: Any, value: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", item, least), value, ir.Constant(value.type, None))

        return _map(builder, lanes, choose, args[1:])

    return lanes(low, lanes, values), generate


@intrinsic
def sum_four(_: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """The sums of four single vectors; together they take a third of the instructions of four sums."""

    def generate(context: Any, builder: Builder, signature: Any, args: Any) -> Any:
        one, two, three, four = (builder.extract_value(item, 0) for item in args)
        low, high = (0, 8, 1, 9, 4, 12, 5, 13), (2, 10, 3, 11, 6, 14, 7, 15)
        left, right = (_fold(builder, *pair, low, high) for pair in ((one, two), (three, four)))
        both = _fold(builder, left, right, (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15))
        return _fold(builder, both, both, range(4), range(4, 8))

    return Quad(a.number)(a, b, c, d), generate


@intrinsic
def sum_one(_: Any, lanes: Any) -> Any:
    """The sum of a single vector, in the order of `sum_four`."""

    def generate(context: Any, builder: Builder, signature: Any, args: Any) -> Any:
        found = builder.extract_value(args[0], 0)
        found = _fold(builder, found, found, (0, 1, 4, 5), (2, 3, 6, 7))
        found = _fold(builder, found, found, (0, 2), (1, 3))
        return builder.extract_element(_fold(builder, found, found, (0,), (1,)), ir.Constant(ir.IntType(32), 0))

    return lanes.number(lanes), generate


@intrinsic
def add_four(_: Any, array: Any, place: Any, scale: Any, quad: Any) -> Any:
    """array[place: place + 4] += scale·quad."""

    def generate(context: Any, builder: Builder, signature: Any, args: Any) -> Any:
        start = builder.gep(_data(context, builder, array, args[0]), [args[1]])
        target = builder.bitcast(start, args[3].type.as_pointer())
        old = builder.load(target)
        old.align = 4
        builder.store(_fuse(builder, _spread(builder, args[2], 4), args[3], old), target).align = 4
        return context.get_dummy_value()

    return types.void(array, types.intp, scale, quad), generate


def _data(context: Any, builder: Builder, kind: Any, array: Any) -> Any:
    return cgutils.create_struct_proxy(kind)(context, builder, array).data


def _places(context: Any, builder: Builder, lanes: Lanes, kind: Any, row: Any, first: Any, args: Any) -> list[Any]:
    """Pointers to the vectors of a row from a column on, of a matrix whose rows lie one after the other."""
    matrix = cgutils.create_struct_proxy(kind)(context, builder, args[0])
    index, column = (context.cast(builder, item, own, types.intp) for item, own in ((args[1], row), (args[2], first)))
    start = builder.add(builder.mul(index, builder.extract_value(matrix.shape, 1)), column)
    vector = _vector(lanes.number, EIGHT).as_pointer()
    steps = (ir.Constant(start.type, part * EIGHT) for part in range(lanes.parts))
    return [builder.bitcast(builder.gep(matrix.data, [builder.add(start, step)]), vector) for step in steps]


def _map(builder: Builder, lanes: Lanes, change: Callable[..., Any], args: Any) -> Any:
    """Lanes made of a function of each of the vectors of `args`."""
    found = args[0]
    for part in range(lanes.parts):
        vectors = (builder.extract_value(item, part) for item in args)
        found = builder.insert_value(found, change(*vectors), part)
    return found


def _fuse(builder: Builder, left: Any, right: Any, total: Any) -> Any:
    return builder.fadd(builder.fmul(left, right, flags=FUSED), total, flags=FUSED)


def _spread(builder: Builder, number: Any, size: int) -> Any:
    whole = ir.Constant(ir.VectorType(number.type, size), ir.Undefined)
    first = builder.insert_element(whole, number, ir.Constant(ir.IntType(32), 0))
    return _shuffle(builder, first, first, [0] * size)


def _fold(builder: Builder, left: Any, right: Any, low: Any, high: Any) -> Any:
    return builder.fadd(_shuffle(builder, left, right, low), _shuffle(builder, left, right, high))


def _shuffle(builder: Builder, left: Any, right: Any, places: Any) -> Any:
    order = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), list(places))
    return builder.shuffle_vector(left, right, order)
