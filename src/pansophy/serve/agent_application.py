"""The application of an agent: /act, /schema and /health.

POST /act takes {"observations": [...], "masks": [...]}, or one {"observation": ...},
and answers {"actions": [...]} or {"action": ...}: the best action after each, without
exploration. The agent learns nothing here.
"""

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from .request import RequestRefused, read_body, refuse_parameters
from .responses import json_bytes, utc_now

KEYS = {"observation", "observations", "mask", "masks"}


def is_agent(model) -> bool:
    """Whether a saved object is an agent of `pansophy.rl`."""
    return type(model).__module__.startswith("pansophy.rl.") and hasattr(model, "act")


class AgentService:
    """An agent and a handler for each route."""

    def __init__(self, agent, limits):
        if getattr(agent, "memory", "none") != "none":
            raise ValueError(
                "an agent with a memory acts on whole episodes and cannot be served: "
                "requests do not tell which episode they belong to."
            )
        self.agent, self.limits = agent, limits
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="agent")
        self.begun = time.time()
        self.requests = 0

    async def act(self, request) -> bytes:
        """The best action after each observation."""
        refuse_parameters(request)
        body = await read_body(request, self.limits)
        sent, single = parsed_observations(body, self.limits.rows)
        work = lambda: self._actions(*sent)
        try:
            loop = asyncio.get_running_loop()
            actions = await loop.run_in_executor(self.pool, work)
        except (ValueError, TypeError, IndexError, KeyError) as error:
            raise RequestRefused(422, f"The observations do not fit: {error}") from None
        self.requests += 1
        if single:
            return json_bytes({"action": actions[0]})
        return json_bytes({"actions": actions})

    def _actions(self, observations, masks):
        layout = getattr(self.agent, "observation_layout_", None)
        described = layout is not None and layout.kind == "parts"
        if masks is None and not described:
            return self.agent.predict(np.asarray(observations)).tolist()
        masks = [None] * len(observations) if masks is None else masks
        if len(masks) != len(observations):
            raise ValueError(f"{len(observations)} observations, {len(masks)} masks")
        both = zip(observations, masks, strict=True)
        results = [self.agent.act(one, None, mask) for one, mask in both]
        return [np.asarray(action).tolist() for action in results]

    async def health(self, request) -> bytes:
        """Whether the agent answers."""
        told = {
            "status": "ok",
            "agent": type(self.agent).__name__,
            "seconds": round(time.time() - self.begun, 1),
            "time": utc_now(),
            "requests": self.requests,
        }
        return json_bytes(told)

    async def schema(self, request) -> bytes:
        """What the agent observes and chooses."""
        told: dict = {"agent": type(self.agent).__name__}
        for name in ("observation_layout_", "action_layout_"):
            layout = getattr(self.agent, name, None)
            if layout is not None:
                told[name.removesuffix("_layout_")] = layout_summary(layout)
        return json_bytes(told)


def layout_summary(layout) -> dict:
    """Kind and sizes of a layout, for JSON."""
    summary = {"kind": layout.kind, "shape": list(layout.shape), "width": layout.width}
    if layout.sizes:
        summary |= {"sizes": list(layout.sizes), "starts": list(layout.starts)}
    return summary


def parsed_observations(body, most):
    """(observations, masks) of a body, and whether there is one only."""
    try:
        sent = json.loads(body)
    except ValueError:
        raise RequestRefused(400, "The body is not valid JSON.") from None
    if not isinstance(sent, dict) or not sent.keys() <= KEYS:
        text = 'Send {"observations": [...]} or {"observation": ...}.'
        raise RequestRefused(422, text)
    single = "observation" in sent
    if single == ("observations" in sent):
        raise RequestRefused(422, "Send either observation or observations.")
    if ("masks" if single else "mask") in sent:
        text = "mask goes with observation, masks with observations."
        raise RequestRefused(422, text)
    if single:
        masks = [sent["mask"]] if sent.get("mask") is not None else None
        return ([sent["observation"]], masks), True
    rows = sent["observations"]
    if not isinstance(rows, list) or not rows:
        raise RequestRefused(422, "observations must be a list that is not empty.")
    if len(rows) > most:
        text = f"{len(rows)} observations are too many; one request holds {most}."
        raise RequestRefused(413, text)
    return (rows, sent.get("masks")), False


def agent_application(agent, limits, *, token=None, hosts=None):
    """An ASGI application for a fitted agent."""
    import fastapi
    from starlette.exceptions import HTTPException

    from .application import endpoint, routing_error
    from .request_middleware import AccessRule, RequestMiddleware

    service = AgentService(agent, limits)
    name = type(agent).__name__
    made = fastapi.FastAPI(title=f"{name} agent", docs_url=None, redoc_url=None)
    pages = [
        ("/act", "POST", service.act),
        ("/health", "GET", service.health),
        ("/schema", "GET", service.schema),
    ]
    for path, method, work in pages:
        made.add_api_route(
            path,
            endpoint(work, limits),
            methods=[method],
            name=path.strip("/"),
            description=work.__doc__,
            response_model=None,
        )
    made.add_exception_handler(HTTPException, routing_error)
    made.add_middleware(RequestMiddleware, access=AccessRule.of(token, hosts))
    made.state.service = service
    return made
