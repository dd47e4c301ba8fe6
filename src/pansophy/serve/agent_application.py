"""The application of an agent: /act, /schema and /health.

POST /act takes {"observations": [...], "masks": [...]}, or one {"observation": ...},
and answers {"actions": [...]} or {"action": ...}: the best action after each, without
exploration. The agent learns nothing here.
"""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import numpy as np

from .batching import ServerBusy
from .request import RequestRefused, read_body, refuse_parameters
from .responses import json_bytes, utc_now
from .service import INLINE_BYTES

# what numbers and nesting of any kind lead to in NumPy and in an agent
UNFIT_OBSERVATIONS = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    RuntimeError,
)
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
        self.readers = ThreadPoolExecutor(2, thread_name_prefix="reader")
        self.waiting = 0  # observations
        self.begun = time.time()
        self.requests = 0

    async def act(self, request) -> bytes:
        """The best action after each observation."""
        refuse_parameters(request)
        body = await read_body(request, self.limits)
        loop = asyncio.get_running_loop()
        read = lambda: parsed_observations(body, self.limits.rows)
        is_long = len(body) > INLINE_BYTES  # it would hold up the event loop
        sent, single = (
            await loop.run_in_executor(self.readers, read) if is_long else (read())
        )
        n = len(sent[0])
        if self.waiting + n > self.limits.waiting:
            raise ServerBusy
        self.waiting += n
        try:
            work = lambda: self._actions(*sent)
            actions = await loop.run_in_executor(self.pool, work)
        except UNFIT_OBSERVATIONS as error:
            text = " ".join(str(error).split())[:300]
            raise RequestRefused(422, f"The observations do not fit: {text}") from None
        finally:
            self.waiting -= n
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
            "waiting": self.waiting,
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
    from pydantic_core import from_json

    try:
        sent = from_json(body, allow_inf_nan=True)
    except ValueError as error:
        raise RequestRefused(
            400, f"The body is not JSON: {str(error)[:200]}."
        ) from None
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
    from .application import application_of_pages

    service = AgentService(agent, limits)

    @asynccontextmanager
    async def life(_):
        yield
        service.pool.shutdown(wait=True)
        service.readers.shutdown(wait=True)

    pages = [
        ("/act", "POST", service.act),
        ("/health", "GET", service.health),
        ("/schema", "GET", service.schema),
    ]
    title = f"{type(agent).__name__} agent"
    return application_of_pages(service, title, pages, life, token=token, hosts=hosts)
