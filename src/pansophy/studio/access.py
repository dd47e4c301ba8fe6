"""Who is let into the studio: the name that is called, the token, the cookie, changes.

A studio listens on this machine only, and still any page that a browser has open can
send requests to it. In this order, and before anything else is looked at:

1. The Host header must be one of the names of this machine. A foreign name that was
   made to lead here (DNS rebinding) is refused.
2. The address that is printed at the start holds a token that works once. It is
   answered with a cookie and a way to the same page without the token, so that the
   token stays in no history and in no log. The cookie is named by the port, is not seen
   by scripts and is never sent along by other sites.
3. Whatever changes anything (all but GET and HEAD) must come from a page of the studio:
   its Origin is the very host and port that are called, and it has a header that a form
   of another site cannot send.

Style sheet, script and icon, which hold nothing, are sent_value to whoever calls by the
right name.
"""

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from ..serve.request_middleware import header_values, host_name, host_refusal
from ..serve.server import LOOPBACK

SAFE_METHODS = ("GET", "HEAD")
CHANGE_HEADER = b"x-pansophy"
CHANGE_VALUE = b"studio"
FOREIGN_SITES = (b"cross-site", b"same-site")  # of other ports of this machine, too
TOKEN_PARAMETER = b"token"
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
CALL_ELSEWHERE = "The studio does not answer by that name."
COME_BY_TOKEN = (
    "Open the address that `pansophy studio` printed in its terminal: it holds a token "
    "that lets this browser in. A token works once; a new one has been printed if this "
    "one was used."
)
FROM_OUTSIDE = "Changes are made from the pages of the studio only."


class StudioAccess:
    """The rule of the module text, for one running studio.

    Parameters
    ----------
    port : int
        In the name of the cookie, so that two studios do not share one.
    hosts : list of str
        Further names by which the studio may be called.
    announce : function of str or None
        Is told a new token when a used one was tried.
    """

    def __init__(self, port, hosts=(), announce=None):
        self.hosts = frozenset(map(host_name, [*LOOPBACK, *hosts]))
        self.cookie = f"pansophy-studio-{port}"
        self.session = secrets.token_urlsafe(32)
        self.announce = announce
        self.token = secrets.token_urlsafe(32)

    def new_token(self) -> str:
        """A token that works once; the one before it works no more."""
        self.token = secrets.token_urlsafe(32)
        return self.token

    def refusal(self, scope):
        """(status, sentence, headers) of a request that is not served, else None."""
        refused = host_refusal(scope, self.hosts)
        if refused is not None:
            status, _, headers = refused
            return status, CALL_ELSEWHERE, headers
        changes = scope["method"] not in SAFE_METHODS
        if changes and not _is_own_change(scope):
            return 403, FROM_OUTSIDE, []
        if not changes and scope["path"].startswith("/static/"):
            return None
        sites = header_values(scope, b"sec-fetch-site")
        modes = header_values(scope, b"sec-fetch-mode")
        if sites and sites[0] in FOREIGN_SITES and modes != [b"navigate"]:
            return 403, FROM_OUTSIDE, []
        if self.has_session(scope):
            return None
        return self.admission(scope)

    def has_session(self, scope) -> bool:
        """Whether a request carries the cookie of this studio."""
        for value in header_values(scope, b"cookie"):
            try:
                cookies = SimpleCookie(value.decode("latin-1"))
            except CookieError:
                continue
            sent_value = cookies.get(self.cookie)
            if sent_value is not None and _are_equal(sent_value.value, self.session):
                return True
        return False

    def admission(self, scope):
        """The way in for a right token, which is used up; a refusal for others."""
        sent_value = parse_qs(scope["query_string"]).get(TOKEN_PARAMETER, [])
        if scope["method"] != "GET" or len(sent_value) != 1:
            return 401, COME_BY_TOKEN, []
        if not _are_equal(sent_value[0].decode("latin-1"), self.token):
            if self.announce is not None:
                self.announce(self.new_token())
            return 401, COME_BY_TOKEN, []
        self.new_token()
        cookie = f"{self.cookie}={self.session}; Path=/; HttpOnly; SameSite=Strict"
        headers = [(b"location", b"/"), (b"set-cookie", cookie.encode())]
        return 303, "", headers


def _are_equal(sent_value, secret) -> bool:
    """Whether two texts are equal, in the same time wherever they differ."""
    return hmac.compare_digest(sent_value.encode(), secret.encode())


def _is_own_change(scope) -> bool:
    """Whether a request that changes something was made by a page of this studio."""
    origins = header_values(scope, b"origin")
    called = header_values(scope, b"host")[0]
    if len(origins) != 1 or origins[0].lower() != b"http://" + called.lower():
        return False
    return header_values(scope, CHANGE_HEADER) == [CHANGE_VALUE]
