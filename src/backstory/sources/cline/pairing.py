"""Which result belongs to which item of a batched call: by what Cline echoes, then by position."""

from __future__ import annotations

from collections.abc import Sequence

from .results import ItemResult

Pair = tuple[int | None, ItemResult | None, bool]
"""The index of an item, its result, either null where it is missing; and whether only their places agree."""


def pair(queries: list[str], results: Sequence[ItemResult]) -> list[Pair]:
    """Pair the queries that a call should echo with the results that came, in the items' order.

    Results that no item claims come last, so that none is lost.
    """
    if queries == [result.query for result in results]:
        return [(index, result, False) for index, result in enumerate(results)]
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
    pairs: dict[int, Pair] = {index: (index, results[place], False) for index, place in taken.items()}
    for index in open_items:
        place = index if index in free else (free[0] if free else None)
        if place is None:
            pairs[index] = (index, None, False)
        else:
            free.remove(place)
            pairs[index] = (index, results[place], True)
    return [pairs[index] for index in range(len(queries))] + [(None, results[place], True) for place in free]
