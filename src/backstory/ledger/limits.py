"""How much a model can take at once, by the price library's own table."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=512)
def context_window(model: str) -> int | None:
    """Tokens of a model's context; null where the library does not know the model. The library loads on first use."""
    from genai_prices.data_snapshot import get_snapshot

    for name in (model, model.rpartition("/")[2]):
        try:
            _, found = get_snapshot().find_provider_model(name, None, None, None)
        except LookupError:
            continue
        return found.context_window
    return None
