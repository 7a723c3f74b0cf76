"""Secrets that are recognised by themselves: tokens with a prefix, and what follows a fixed address.

Every one of them has a run of at least `RUN` letters, digits, `_` and `-`, so only such runs are looked at.
"""

from __future__ import annotations

import re

from .looks import is_random
from .words import RUN, Span

_end = r"(?![A-Za-z0-9_-])"
_PREFIXED: tuple[tuple[str, str], ...] = (
    ("github-token", r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{22,}"),
    ("gitlab-token", r"gl(?:pat|ptt|dt|rt|rtr|cbt|ft|soat|imt|agent|ffct)-[\w-]{20,}"),
    ("slack-token", r"xox[a-z]-(?=[\w-]*\d)[\w-]{12,}|xapp-\d-[\w-]{20,}"),
    ("anthropic-key", r"sk-ant-[\w-]{16,}"),
    ("openrouter-key", r"sk-or-[\w-]{20,}"),
    ("openai-key", r"sk-(?!ssh-|ecdsa-)[A-Za-z0-9_-]{20,}"),
    ("google-key", rf"AIza[\w-]{{35}}{_end}"),
    ("google-secret", r"GOCSPX-[\w-]{20,}"),
    ("stripe-key", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("webhook-secret", r"whsec_[A-Za-z0-9+/]{20,}=*"),
    ("aws-key", rf"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{{16}}{_end}"),
    ("npm-token", r"npm_[A-Za-z0-9]{36,}"),
    ("pypi-token", r"pypi-[\w-]{40,}"),
    ("huggingface-token", r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    ("digitalocean-token", r"do[opr]_v1_[a-f0-9]{60,}"),
    ("shopify-token", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32,}"),
    ("docker-token", r"dckr_[po]at_[\w-]{20,}"),
    ("linear-key", r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    ("groq-key", r"gsk_[A-Za-z0-9]{40,}"),
    ("xai-key", r"xai-[A-Za-z0-9]{40,}"),
    ("databricks-token", rf"dapi[a-f0-9]{{32}}(?:-\d)?{_end}"),
    ("age-key", r"AGE-SECRET-KEY-1[0-9A-Z]{40,}"),
    ("twilio-key", rf"SK[0-9a-f]{{32}}{_end}"),
    ("mailgun-key", rf"key-[0-9a-f]{{32}}{_end}"),
    ("replicate-token", r"r8_[A-Za-z0-9]{30,}"),
    ("perplexity-key", r"pplx-[A-Za-z0-9]{40,}"),
    ("nvidia-key", r"nvapi-[\w-]{40,}"),
    ("tavily-key", r"tvly-[\w-]{24,}"),
    ("figma-token", r"fig[do]_[\w-]{30,}"),
    ("notion-token", r"(?:secret|ntn)_[A-Za-z0-9]{40,}"),
    ("sentry-token", r"sntry[su]_[\w-]{40,}"),
    ("postman-key", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("square-token", r"sq0(?:atp|csp)-[\w-]{22,}"),
    ("rubygems-key", r"rubygems_[a-f0-9]{40,}"),
    ("grafana-token", r"gl(?:sa|c)_[\w-]{32,}"),
    ("pulumi-token", r"pul-[a-f0-9]{40}"),
    ("atlassian-token", r"ATATT3[\w-]{60,}(?:=\w*)?"),
    ("supabase-key", r"sbp_[a-f0-9]{40,}|sb_secret_[\w-]{20,}"),
    ("resend-key", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),
    ("jwt", r"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){0,3}"),
    ("discord-token", rf"[MNO][A-Za-z0-9_-]{{22,27}}\.[\w-]{{6}}\.[\w-]{{27,}}{_end}"),
    ("mailchimp-key", rf"[0-9a-f]{{32}}-us\d{{1,2}}{_end}"),
)
_format = re.compile("|".join(f"({pattern})" for _, pattern in _PREFIXED), re.ASCII)
_starts = re.compile(
    r"g[hil]|x[oa]|s[kqbnhe]|AI|GO|rk|wh|A[KSBCGT]|n[ptv]|py|hf|ap|d[oca]|li|gs|SK|ke|r[8ue]|p[pu]|tv|fi|PM|ey|[MNO]"
    r"|[0-9a-f]{32}-us"
)
_UNSURE = {"openai-key": 3, "huggingface-token": 3, "notion-token": 4, "webhook-secret": 6}
"""Formats with a common prefix, and its length: what follows it must look random as well."""
_BEHIND: tuple[tuple[str, str], ...] = (
    ("vault-token", r"\bhv[sbr]\.()"),
    ("google-token", r"\bya29\.()"),
    ("sendgrid-key", r"\bSG\.()"),
    ("doppler-token", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.()"),
    ("slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/(\w{1,16}/(?:\w{1,16}/)?)"),
    ("discord-webhook", r"discord(?:app)?\.com/api/webhooks/\d{10,24}/()"),
    ("telegram-token", r"(?<![A-Za-z0-9_.])(?:bot)?(\d{7,11}:)(?=AA[\w-]{33}(?![\w-]))"),
    ("authorization", r"(?i:\bbearer) ()"),
)
_behind = re.compile("|".join(f"(?:{pattern})" for _, pattern in _BEHIND), re.ASCII)
_BACK = 80
_plausible = re.compile(r"/\w{1,24}/\Z|(?i:bearer) \Z", re.ASCII)
_more = re.compile(r"[\w.~+/-]*=*", re.ASCII)

KINDS: tuple[str, ...] = tuple(kind for kind, _ in (*_PREFIXED, *_BEHIND))

_LONG = b"a" * RUN


def find(text: str, runs: bytes) -> list[Span]:
    """The secrets that say by themselves what they are. `runs` has `a` for each character of a run, else a blank."""
    found: list[Span] = []
    at = runs.find(_LONG)
    while at >= 0:
        end = runs.find(b" ", at)
        end = len(runs) if end < 0 else end
        span = _at(text, at, end)
        if span is not None:
            found.append(span)
            end = max(end, span.end)
        at = runs.find(_LONG, end)
    return found


def _at(text: str, start: int, end: int) -> Span | None:
    """The secret that a run is, or that it is the end of."""
    before = text[start - 1] if start else ""
    if before == "\\" and text[start] in "nrt":
        start += 1
    elif before == "%" and text[start] in "23":
        start += 2
    if _starts.match(text, start):
        match = _format.match(text, start)
        if match:
            kind = _PREFIXED[(match.lastindex or 1) - 1][0]
            if kind not in _UNSURE or is_random(match[0][_UNSURE[kind] :]):
                return Span(start, max(end, match.end()), kind)
    return _after(text, start, end) if before and before in "./: " else None


def _after(text: str, start: int, end: int) -> Span | None:
    """The secret whose long run follows something that says what it is."""
    least = max(start - _BACK, 0)
    # Of most runs, which are names in a path or words, the last thing before them settles it.
    if text[start - 1] in "/ " and not _plausible.search(text, least, start):
        return None
    for match in _behind.finditer(text, least, min(end, start + 40)):
        if match.end() == start:
            group = match.lastindex or 1
            kind = _BEHIND[group - 1][0]
            if kind == "authorization" and not is_random(text[start:end]):
                return None
            begin = match.start() if kind in _WHOLE else match.start(group)
            tail = _more.match(text, start) if kind in _WHOLE or kind == "authorization" else None
            return Span(begin, max(end, tail.end() if tail else end), kind)
    return None


_WHOLE = frozenset({"vault-token", "google-token", "sendgrid-key", "doppler-token"})
"""Of these the words before the run are part of the secret."""
