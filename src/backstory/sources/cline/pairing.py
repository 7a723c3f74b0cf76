"""Which result belongs to which item of a batched call: by what Cline echoes, then by position."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from .results import ItemResult


class Pair(Struct, frozen=True, gc=False):
    """Item `item` got result `result`; either may be null, when the other side is missing."""

    item: int | None
    result: int | None
    by_position: bool = False


def pair(queries: Sequence[str], results: Sequence[ItemResult]) -> list[Pair]:
    """Pair the queries that a call should echo with the results that came, in the items' order.

    Results that no item claims come last, so that none is lost.
    """
    if len(queries) == len(results) and all(
        result.query == query for query, result in zip(queries, results, strict=True)
    ):
        return [Pair(index, index) for index in range(len(queries))]
    waiting: dict[str, list[int]] = {}
    for index, result in enumerate(results):
        if result.query is not None:
            waiting.setdefault(result.query, []).append(index)
    taken: dict[int, int] = {}
    for index, query in enumerate(queries):
        if waiting.get(query):
            taken[index] = waiting[query].pop(0)
    used = set(taken.values())
    free = [index for index in range(len(results)) if index not in used]
    open_items = [index for index in range(len(queries)) if index not in taken]
    pairs = {index: Pair(index, result) for index, result in taken.items()}
    for index in open_items:
        taken_by = index if index in free else (free[0] if free else None)
        if taken_by is not None:
            free.remove(taken_by)
        pairs[index] = Pair(index, taken_by, by_position=taken_by is not None)
    return [pairs[index] for index in range(len(queries))] + [Pair(None, index, True) for index in free]
