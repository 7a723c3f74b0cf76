"""The icons, drawn for this project: 16 px, one stroke of 1.4 px."""

from __future__ import annotations

_PATHS = {
    "mark": '<path d="M2 3.5h8M2 8h12M2 12.5h9"/>',
    "search": '<circle cx="7" cy="7" r="4.2"/><path d="m10.2 10.2 3.6 3.6"/>',
    "run": '<path d="m2.5 4.5 3.5 3.5-3.5 3.5M8 12h5.5"/>',
    "edit": '<path d="M8 2v7M4.5 5.5h7M4.5 13h7"/>',
    "read": '<path d="M3.5 2h6l3 3v9h-9zM5.8 7.5h4.4M5.8 10.5h4.4"/>',
    "say": '<path d="M2 3h12v8H7.5L4.5 13.6V11H2z"/>',
    "think": '<path d="M2 6.5c2-2.2 3.7-2 6 0s4 2.2 6 0M2 11c2-2.2 3.7-2 6 0s4 2.2 6 0"/>',
    "note": '<path d="M4 3v7h8M9.5 7.5 12 10l-2.5 2.5"/>',
    "find": '<circle cx="7" cy="7" r="4.2"/><path d="m10.2 10.2 3.6 3.6"/>',
    "fetch": '<circle cx="8" cy="8" r="5.7"/>'
    '<path d="M2.5 8h11M8 2.5c3.5 3.5 3.5 7.5 0 11M8 2.5c-3.5 3.5-3.5 7.5 0 11"/>',
    "ask": '<path d="M5.2 6c0-3.6 5.6-3.6 5.6 0 0 2.2-2.8 2.2-2.8 4.4M8 13v.3"/>',
    "agent": '<path d="M3 2.5v4c0 2 1 3 3 3h6.5M9.5 6.5l3 3-3 3"/>',
    "tool": '<path d="M8 2v12M2.8 5l10.4 6M13.2 5 2.8 11"/>',
    "error": '<path d="m3.5 3.5 9 9M12.5 3.5l-9 9"/>',
    "failing": '<path class="solid" d="M8 2 14.5 13.5h-13z"/><path class="on" d="M8 6.2v3.6M8 11.3v.5"/>',
    "stop": '<circle cx="8" cy="8" r="5" stroke-dasharray="3 2.2"/>',
    "ring": '<circle cx="8" cy="8" r="4.5"/>',
    "open": '<path d="m6 4 4 4-4 4"/>',
}


def sprite() -> str:
    """All icons as symbols of one hidden drawing."""
    symbols = "".join(
        f'<symbol id="i-{name}" viewBox="0 0 16 16">{paths}</symbol>' for name, paths in _PATHS.items()
    )
    return f'<svg class="sprite" aria-hidden="true">{symbols}</svg>'
