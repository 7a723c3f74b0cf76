"""Columns that fit a width: when it is tight some leave, in a stated order, and one is cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .line import Line, Span, View, cut_line, width

GAP = 2


class Column(NamedTuple):
    """A column. `leaves` is its turn to go when it is tight (1 goes first); `stretch` takes what is left."""

    name: str
    right: bool = False
    leaves: int | None = None
    stretch: bool = False


class Layout(NamedTuple):
    """The columns that stayed, with their widths; `kept` are their places in the rows."""

    columns: tuple[Column, ...]
    widths: tuple[int, ...]
    kept: tuple[int, ...]


def layout(
    columns: Sequence[Column], rows: Sequence[Sequence[Line]], room: int, *, least: int, taken: int = 0
) -> Layout:
    """Choose columns and widths for `room` cells, so that the stretching column keeps `least` of them.

    `taken` are cells in front of the first column. A column is as wide as its widest cell or its name.
    """
    natural = [
        max([len(column.name), *(width(row[at]) for row in rows)]) for at, column in enumerate(columns)
    ]
    kept = list(range(len(columns)))
    order = sorted((column.leaves, at) for at, column in enumerate(columns) if column.leaves is not None)
    while True:
        fixed = sum(natural[at] for at in kept if not columns[at].stretch)
        left = room - taken - fixed - GAP * (len(kept) - 1)
        if left >= least or not order:
            break
        kept.remove(order.pop(0)[1])
    widths = tuple(max(left, 1) if columns[at].stretch else natural[at] for at in kept)
    return Layout(tuple(columns[at] for at in kept), widths, tuple(kept))


def header(found: Layout) -> Line:
    """The names of the columns."""
    names: list[Line] = [((column.name, "label"),) for column in found.columns]
    return _set(found, names)


def row(found: Layout, cells_of_row: Sequence[Line], view: View) -> Line:
    """One row; the stretching cell is cut on a terminal and pushes the others elsewhere."""
    cells: list[Line] = []
    for at, column, room in zip(found.kept, found.columns, found.widths, strict=True):
        cell = cells_of_row[at]
        cells.append(cut_line(cell, room, view.glyphs) if column.stretch and view.cut else cell)
    return _set(found, cells)


def _set(found: Layout, cells_of_row: Sequence[Line]) -> Line:
    parts: list[Span] = []
    for at, (column, room, cell) in enumerate(zip(found.columns, found.widths, cells_of_row, strict=True)):
        blank = (" " * max(room - width(cell), 0), "")
        if at:
            parts.append((" " * GAP, ""))
        parts.extend((blank, *cell) if column.right else (*cell, blank))
    return tuple(parts)
