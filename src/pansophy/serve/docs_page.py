"""/docs: one page that needs nothing from elsewhere, with a form to try the model."""

import json
import secrets
from html import escape

from .openapi import describe_column, example_row

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
       padding: 0 1rem; color: #1b1f24 }
code, pre, textarea { font: 14px/1.45 ui-monospace, monospace }
pre { background: #f3f5f7; padding: .75rem; overflow-x: auto; border-radius: 6px }
textarea { width: 100%; box-sizing: border-box }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
td, th { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #d8dde3;
         vertical-align: top; overflow-wrap: break-word; max-width: 40rem }
td code, th { white-space: nowrap }
button { font: inherit; padding: .35rem .9rem }
"""

SCRIPT = """
for (const b of document.querySelectorAll("button")) b.onclick = async () => {
  const out = document.getElementById("out");
  out.textContent = "...";
  try {
    const r = await fetch(b.dataset.path, {method: "POST", body:
      document.getElementById("row").value,
      headers: {"content-type": "application/json"}});
    const text = await r.text();
    try { out.textContent = r.status + "\\n" +
          JSON.stringify(JSON.parse(text), null, 2) }
    catch { out.textContent = r.status + "\\n" + text }
  } catch (e) { out.textContent = String(e) }
};
"""


def docs_page(service) -> tuple[str, str]:
    """The page, and the policy that keeps it to itself."""
    model, limits = service.model, service.limits
    schema = model.schema
    nonce = secrets.token_urlsafe(12)
    row = json.dumps(example_row(model), indent=2, ensure_ascii=False)
    cells = "".join(
        f"<tr><td>{escape(i.column.name)}</td>"
        f"<td>{escape(describe_column(i.column, model.reference)[:300])}</td>"
        f"<td>{'yes' if i.required else 'no'}</td></tr>"
        for i in service.reader.inputs
    )
    goal = escape(schema.target)
    if schema.classes:
        goal += ": " + escape(", ".join(map(str, schema.classes[:50])))
    body = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(schema.target)}</title><style nonce="{nonce}">{STYLE}</style></head>
<body><h1>{escape(schema.target)}</h1>
<p>{escape(model.method)}, {escape(schema.task)} ({goal}).</p>
<h2>Try it</h2>
<textarea id="row" rows="12" spellcheck="false">{escape(row)}</textarea>
<p><button data-path="/predict">Predict</button>
<button data-path="/predict?level=0.9">Predict with 90 % interval or set</button>
<button data-path="/explain">Explain</button></p><pre id="out"></pre>
<h2>Requests</h2>
<div class="wide"><table>
<tr><td><code>POST /predict</code></td><td>One row (a JSON object), a list of rows,
or <code>{{"rows": [...]}}</code>; at most {limits.rows:,} rows and
{limits.body_bytes:,} bytes. <code>?level=0.9</code> adds an interval or a set of
classes, which holds the answer so often over all rows (sets of more than two classes
are randomised by the row).</td></tr>
<tr><td><code>POST /explain</code></td><td>The same, with the share of each column in
each prediction; at most {limits.explained:,} rows.</td></tr>
<tr><td><code>GET /schema</code></td><td>Columns, target and scores.</td></tr>
<tr><td><code>GET /health</code></td><td>Whether the model answers.</td></tr>
<tr><td><code>GET <a href="/openapi.json">/openapi.json</a></code></td><td>All of this
for machines.</td></tr></table></div>
<h2>Columns</h2>
<div class="wide"><table><tr><th>Column</th><th>Kind</th><th>Required</th></tr>
{cells}</table></div>
<p>null is a missing value. Columns that the training table did not have are refused;
levels that it did not have count as unknown, and a note says so.</p>
<script nonce="{nonce}">{SCRIPT}</script></body></html>"""
    policy = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'"
    )
    return body, policy
