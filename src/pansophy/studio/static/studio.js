// The studio's only script. Pages are made by the server; this sends what is chosen,
// shows what comes back, and follows a run. Elements say what they do in data attributes.

const headers = {"x-pansophy": "studio"};
const told = document.getElementById("told");
const main = document.getElementById("main");

function tell(text) {
  told.textContent = text;
  told.hidden = !text;
}

async function ask(url, options = {}) {
  const response = await fetch(url, {credentials: "same-origin", ...options});
  const text = await response.text();
  if (!response.ok) throw new Error(problemIn(text) || `${response.status}`);
  return text;
}

function problemIn(text) {
  try { return JSON.parse(text).error; } catch { /* a page */ }
  const page = new DOMParser().parseFromString(text, "text/html");
  return (page.querySelector("main .lead, main p") || page.body).textContent.trim();
}

const post = (url, body) => ask(url, {
  method: "POST",
  headers: {...headers, "content-type": "application/json"},
  body: JSON.stringify(body),
});

// --- sending a table ------------------------------------------------------------------

function upload(file, shown) {
  return new Promise((resolve, reject) => {
    if (file.size > Number(shown.dataset.limit)) return reject(new Error(shown.dataset.large));
    const request = new XMLHttpRequest();
    const bar = shown.querySelector?.("progress");
    request.open("POST", `/files?name=${encodeURIComponent(file.name)}`);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    if (bar) request.upload.onprogress = (event) => {
      bar.hidden = false;
      bar.value = 100 * event.loaded / event.total;
    };
    request.onload = () => request.status === 200
      ? resolve(JSON.parse(request.responseText).file)
      : reject(new Error(problemIn(request.responseText)));
    request.onerror = () => reject(new Error(shown.dataset.large));
    request.send(file);
  });
}

async function dropped(zone, file) {
  const title = zone.querySelector("strong");
  const before = title.textContent;
  tell("");
  try {
    title.textContent = zone.dataset.sending;
    const name = await upload(file, zone);
    title.textContent = zone.dataset.reading;
    location.href = `/table?file=${encodeURIComponent(name)}`;
  } catch (error) {
    title.textContent = before;
    const bar = zone.querySelector("progress");
    bar.hidden = true;
    zone.querySelector("input").value = "";
    tell(error.message);
  }
}

for (const zone of document.querySelectorAll("[data-drop]")) {
  const input = zone.querySelector("input");
  input.addEventListener("change", () => input.files[0] && dropped(zone, input.files[0]));
  for (const kind of ["dragenter", "dragover"]) zone.addEventListener(kind, () => zone.classList.add("over"));
  for (const kind of ["dragleave", "drop"]) zone.addEventListener(kind, () => zone.classList.remove("over"));
}
// a table that misses the zone must not replace the page
for (const kind of ["dragover", "drop"]) document.addEventListener(kind, (event) => {
  if (!event.target.closest?.("[data-drop], input[type=file]")) event.preventDefault();
});

// --- parts of a page that change --------------------------------------------------------

function replaceInside(place, nodes) {
  const active = document.activeElement;
  const within = active && place.contains(active);
  const open = new Set([...place.querySelectorAll("details[open]")].map((d) => d.id || d.querySelector("summary").textContent));
  const find = within && (active.id ? `#${CSS.escape(active.id)}`
    : active.name ? `[name="${CSS.escape(active.name)}"][value="${CSS.escape(active.value)}"]` : null);
  place.replaceChildren(...nodes);
  for (const d of place.querySelectorAll("details")) {
    if (open.has(d.id || d.querySelector("summary").textContent)) d.open = true;
  }
  if (find) place.querySelector(find)?.focus({preventScroll: true});
}

const nodesOf = (html) => [...new DOMParser().parseFromString(html, "text/html").body.childNodes];

const loaded = new Map();
async function load(place) {
  const url = place.dataset.load;
  try {
    if (!loaded.has(url)) loaded.set(url, ask(url));
    const html = await loaded.get(url);
    if (place.isConnected) replaceInside(place, nodesOf(html));
  } catch (error) {
    loaded.delete(url);
    place.textContent = error.message;
  }
}
const loadAll = () => document.querySelectorAll("[data-load]").forEach(load);
loadAll();

// --- the first screen: every choice is in the address -----------------------------------

function chosen(form) {
  const data = new FormData(form);
  for (const [name, value] of [...data]) if (value === "" || value instanceof File) data.delete(name);
  return data;
}

let latest = 0;
async function refresh(form) {
  const number = ++latest;
  const url = `${form.action.replace(location.origin, "")}?${new URLSearchParams(chosen(form))}`;
  try {
    const page = new DOMParser().parseFromString(await ask(url), "text/html");
    if (number !== latest) return;
    tell("");
    history.replaceState(null, "", url);
    replaceInside(main, [...page.getElementById("main").childNodes]);
    loadAll();
  } catch (error) { tell(error.message); }
}

document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (event.target.matches("[data-live]")) refresh(form);
  if (form?.matches("[data-auto]")) form.submit();
  if (form?.matches("[data-two]")) {
    const two = form.querySelectorAll("[name=run]:checked").length === 2;
    form.querySelector("[type=submit]").disabled = !two;
  }
});

document.addEventListener("submit", async (event) => {
  const form = event.target;
  const button = form.querySelector("[type=submit]");
  if (form.matches("[data-start]")) {
    event.preventDefault();
    const before = button.textContent;
    button.disabled = true;
    button.textContent = form.dataset.start;
    try {
      location.href = JSON.parse(await post("/runs", Object.fromEntries(chosen(form)))).location;
    } catch (error) {
      button.disabled = false;
      button.textContent = before;
      tell(error.message);
      told.scrollIntoView({block: "nearest"});
    }
  } else if (form.matches("[data-predict]")) {
    event.preventDefault();
    predict(form, button);
  } else if (form.matches("[data-answer]")) {
    event.preventDefault();
  }
});

// --- buttons ----------------------------------------------------------------------------

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  try {
    if (button.dataset.post) {
      button.disabled = true;
      const reply = JSON.parse(await post(button.dataset.post, JSON.parse(button.dataset.body)));
      if (reply.location) location.href = reply.location;
    } else if (button.dataset.language) {
      await post("/language", {language: button.dataset.language});
      location.reload();
    } else if ("copy" in button.dataset) {
      await navigator.clipboard.writeText(button.previousElementSibling.textContent);
      button.textContent = "✓";
    }
  } catch (error) {
    button.disabled = false;
    tell(error.message);
  }
});

// --- a run that is at work: one stream, closed while nobody looks -----------------------

const live = document.querySelector("[data-events]");
let stream = null;
function follow() {
  if (stream || document.hidden) return;
  stream = new EventSource(live.dataset.events);
  stream.addEventListener("board", (event) => replaceInside(live, nodesOf(JSON.parse(event.data).html)));
  stream.addEventListener("end", () => { leave(); location.reload(); });
}
function leave() {
  stream?.close();
  stream = null;
}
if (live) {
  follow();
  document.addEventListener("visibilitychange", () => document.hidden ? leave() : follow());
  addEventListener("pagehide", leave);
  addEventListener("pageshow", (event) => event.persisted && follow());
}

// --- what if ----------------------------------------------------------------------------

const questions = document.querySelector("[data-answer]");
if (questions) {
  const place = document.getElementById("answer");
  let timer = 0, number = 0;
  const answer = async () => {
    const own = ++number;
    try {
      const html = await post(questions.dataset.answer, Object.fromEntries(new FormData(questions)));
      if (own === number) { tell(""); replaceInside(place, nodesOf(html)); }
    } catch (error) { if (own === number) tell(error.message); }
  };
  questions.addEventListener("input", (event) => {
    const of = event.target.dataset.of;
    if (of) document.getElementById(of).value = event.target.value;
    const slider = questions.querySelector(`[data-of="${CSS.escape(event.target.id)}"]`);
    if (slider && event.target.value !== "") slider.value = event.target.value;
    clearTimeout(timer);
    timer = setTimeout(answer, 150);
  });
  answer();
}

// --- predictions of a file --------------------------------------------------------------

async function predict(form, button) {
  const place = document.getElementById("predicted");
  const file = form.upload.files[0];
  tell("");
  button.disabled = true;
  const wait = document.createElement("p");
  wait.className = "waiting";
  wait.textContent = form.dataset.busy;
  place.replaceChildren(wait);
  try {
    const name = file ? await upload(file, form.upload) : form.file.value;
    place.replaceChildren(...nodesOf(await post(form.dataset.predict, {file: name})));
  } catch (error) {
    place.replaceChildren();
    tell(error.message);
  }
  button.disabled = false;
}
const choose = document.querySelector("[data-predict]");
choose?.upload.addEventListener("change", () => { choose.file.required = !choose.upload.files.length; });
