"""`/s/ID/export`: the record of a session as a document to keep."""

from __future__ import annotations

import json
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from ...redact import mask
from ..desk import Desk
from .frame import resolved


def export(desk: Desk, request: Request) -> Response:
    """The whole record as the document of `show --json`, with secrets masked."""
    from ...cli.documents import shown_json
    from ...store.derived import fates

    with desk.archive() as archive:
        session_id = resolved(archive, request.path_params["id"])
        record = archive.record(session_id)
        said = archive.judgements(session_id)
        document = shown_json(record, archive.listed(session_id), fates(record.steps), None, said)
        text = mask(json.dumps(document, ensure_ascii=False, indent=2))
        name = quote(f"{session_id}.json")
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"}
        return Response(text.encode("utf-8", "replace"), media_type="application/json", headers=headers)
