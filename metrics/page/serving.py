"""A bound on what a request may send, kept before anything of it is stored or parsed."""

from collections.abc import Mapping

from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse

from .bounds import Bound

# Of a form around its files.
_FORM = 1_000_000


class BodyBound:
    """Answers a request that sends too much with one sentence, by what it announces or else by what comes.

    Args:
        app: The application behind it.
        most: Bytes of a request.
        most_of_upload: Bytes of an upload.
    """

    def __init__(self, app, most: int, most_of_upload: int):
        self.app, self.most, self.most_of_upload = app, most, most_of_upload

    @classmethod
    def of(cls, bounds: Mapping[str, Bound], uploads: int) -> Middleware:
        """As the page's application takes it."""
        files = max(1, uploads) * bounds["file"].most
        return Middleware(cls, most=bounds["request"].most, most_of_upload=files + _FORM)

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        most = self.most_of_upload if scope["path"].rstrip("/").endswith("/upload") else self.most
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if not announced.isdigit() or len(announced) > 15 or int(announced) > most:
            told = f"The request has too many bytes, expected at most {most:,}."
            return await PlainTextResponse(told, status_code=413)(scope, receive, send)
        seen = 0

        async def bounded():
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            # Whoever announced nothing, or less, is not heard to the end.
            return message if seen <= most else {"type": "http.disconnect"}

        await self.app(scope, bounded, send)
