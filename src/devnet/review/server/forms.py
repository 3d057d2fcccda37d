"""What a form sends, within bounds."""

from urllib.parse import parse_qsl

from starlette.requests import Request

from devnet.core.sentence import UserError

MOST_BYTES = 1 << 16
MOST_FIELDS = 40
FORM = "application/x-www-form-urlencoded"


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form, each once."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise UserError(f"a form of more than {MOST_BYTES:,} bytes is not taken; shorten it.")
    if body and kind != FORM:
        raise UserError(f"a form comes as {FORM}, not as {kind or 'anything else'}.")
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=MOST_FIELDS,
            errors="strict",
        )
    except ValueError:
        raise UserError("the form cannot be read; open the page again.") from None
    return dict(pairs)
