"""One request to a schema registry: authentication, time limit, and what each refusal means."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from headwater.errors import ConfigError, HeadwaterError, TransientError
from headwater.secret import MASK, Secret

_MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
_MAX_REPLY_BYTES = 16 << 20


class Refused(Exception):  # noqa: N818 - an answer, which the caller turns into an error
    """The registry's own answer to a request that it refused."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class _NoRedirects(HTTPRedirectHandler):
    """A redirect would carry the password to wherever it leads."""

    def redirect_request(self, *_args: Any, **_more: Any) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the registry is, and who asks. A password goes into a request and nowhere else."""

    url: str
    user: str = ""
    password: Secret | None = None
    timeout_s: float = 10.0

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            fits = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            fits = False
        if not fits:
            # Of a URL that cannot be read, nobody can say where a password is (INV-12).
            raise ConfigError("config-invalid", "a registry's URL begins with http:// or https://")
        if parts.username is not None or parts.password is not None:
            raise ConfigError(
                "config-invalid",
                "a registry's URL holds no user or password",
                where=parts.hostname or "",
                hint="give them apart: registry.user, and registry.password: ${NAME}",
            )

    def get(self, path: str) -> Any:
        """The answer to a question."""
        return self._ask(path, None)

    def post(self, path: str, body: Any) -> Any:
        """The answer to something sent."""
        return self._ask(path, json.dumps(body).encode())

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": f"{_MEDIA_TYPE}, application/json", "Content-Type": _MEDIA_TYPE}
        if self.password is not None:
            pair = f"{self.user}:{self.password.reveal()}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        return headers

    def _ask(self, path: str, data: bytes | None) -> Any:
        url = f"{self.url.rstrip('/')}/{path}"
        request = Request(url, data, self._headers())  # noqa: S310 - checked when it was given
        try:
            with build_opener(_NoRedirects).open(request, timeout=self.timeout_s) as reply:
                return self._read(reply.read(_MAX_REPLY_BYTES))
        except HTTPError as exc:
            with exc:
                self._refused(exc)
        except (URLError, OSError, HTTPException) as exc:
            raise self._unreachable(str(getattr(exc, "reason", exc))) from None

    def _refused(self, answer: HTTPError) -> NoReturn:
        reason = self._reason(answer)
        if answer.code in (401, 403):
            who = f"user {self.user}" if self.password is not None else "a request without a user"
            raise ConfigError("registry-denied", f"{who}: {reason}", where=self.url)
        if answer.code >= 500 or answer.code in (408, 429):
            raise self._unreachable(f"{answer.code}: {reason}")
        raise Refused(answer.code, reason)

    def _reason(self, answer: HTTPError) -> str:
        try:
            reason = str(json.loads(answer.read(_MAX_REPLY_BYTES))["message"])
        except (ValueError, LookupError, TypeError, OSError, HTTPException):
            reason = answer.reason
        return self._masked(reason)

    def _masked(self, text: str) -> str:
        """What a registry says may repeat what it was told (INV-12)."""
        if self.password is None:
            return text
        token = self._headers()["Authorization"].removeprefix("Basic ")
        return text.replace(self.password.reveal(), MASK).replace(token, MASK)

    def _read(self, data: bytes) -> Any:
        try:
            return json.loads(data)
        except ValueError as exc:
            raise ConfigError("registry-reply", "the answer is not JSON", where=self.url) from exc

    def _unreachable(self, reason: str) -> HeadwaterError:
        return TransientError("registry-unreachable", self._masked(reason), where=self.url)
