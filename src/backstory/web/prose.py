"""Markdown that an agent wrote, as harmless markup: no HTML of its own, no images, links that wait for a click."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from ..cli.text import UNICODE
from . import code

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

TAGS = {
    *(
        "p",
        "br",
        "em",
        "strong",
        "s",
        "code",
        "pre",
        "blockquote",
        "ul",
        "ol",
        "li",
        "hr",
        "a",
        "span",
        "div",
    ),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
MOST = 100_000
"""Characters of a text that are read as Markdown; what is beyond is plain."""


def markdown(text: str) -> Markup:
    """A message as markup."""
    import nh3

    if len(text) > MOST:
        return Markup('<pre class="plain">{}</pre>').format(_safe(text))
    html = _parser().render(_safe(text))
    cleaned = nh3.clean(
        html,
        tags=TAGS,
        attributes={
            "a": {"href", "title", "target"},
            "span": {"class"},
            "div": {"class", "tabindex", "role", "aria-label"},
            "ol": {"start"},
        },
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(cleaned)


def _safe(text: str) -> str:
    """The text with its lines, and everything else that acts made visible."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(UNICODE.safe(line.replace("\t", "    ")) for line in lines)


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "highlight": None})
    parser.enable(["table", "strikethrough"])
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("heading_close", _heading)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_block", _fence)
    parser.add_render_rule("table_open", lambda *_: '<div class="scroll" tabindex="0" role="group"><table>')
    parser.add_render_rule("table_close", lambda *_: "</table></div>")
    return parser


# A rule of the renderer gets itself first, and of the rest only the tokens and the place are needed.


def _heading(self: Any, tokens: Sequence[Any], place: int, *_: Any) -> str:
    """A heading below those of the page: the prompt is `h2`."""
    token = tokens[place]
    level = min(int(token.tag[1]) + 2, 6)
    return f"<h{level}>" if token.nesting == 1 else f"</h{level}>\n"


def _image(self: Any, tokens: Sequence[Any], place: int, *_: Any) -> str:
    token = tokens[place]
    source = str(token.attrs.get("src", ""))
    return f'<span class="img">[image: {escape(token.content or source[:80])}]</span>'


def _link(self: Any, tokens: Sequence[Any], place: int, *_: Any) -> str:
    address = escape(str(tokens[place].attrs.get("href", "")))
    return f'<a href="{address}" title="{address}" target="_blank">'


def _fence(self: Any, tokens: Sequence[Any], place: int, *_: Any) -> str:
    token = tokens[place]
    return f'<div class="code scroll" tabindex="0" role="group"><pre>{_coloured(token.content, token.info)}</pre></div>'


def _coloured(text: str, info: str) -> str:
    language = info.split()[0] if info.split() else ""
    lexer = code.named_lexer(language) if language and len(text) <= code.MOST else None
    if lexer is None:
        return str(escape(text))
    parts = []
    for kind, value in lexer.get_tokens(text):
        name = code.class_of(kind)
        parts.append(f'<span class="{name}">{escape(value)}</span>' if name else str(escape(value)))
    return "".join(parts)
