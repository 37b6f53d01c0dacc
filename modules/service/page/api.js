/* What is asked of the service: requests, problems in words, streams of events that go on. */
const TOKEN = "cortex-r token";  /* in the storage of this tab alone: it ends with the tab */
const LINE_MAX = 64 * 1024 * 1024;  /* a longer line of a stream is none of the service's */
const PAUSE_MAX = 15000;
const LOOK_MS = 5000;  /* between two looks at what others may have changed */
const LOST = "The connection was lost.";

/* A problem that the service tells, or that there is with reaching it (status 0). */
class Problem extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}
/* What the service has refused; where it wants a token, the user is asked for that. */
function refusal(status, text, after) {
  let told = {};
  try { told = JSON.parse(text) || {}; } catch { /* a proxy's page: the status has to do */ }
  const again = Number(after) > 0 && (status === 429 || status === 503) ? " Try again in " + count(Number(after), "second") + "." : "";
  const problem = new Problem(status, (told.detail || told.title || "The service answered with status " + status + ".") + again);
  if (status === 401) { askToken(); }
  return problem;
}
function pathOf(id) { return id.split("/").map(encodeURIComponent).join("/"); }
function headersOf(more) {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { Authorization: "Bearer " + token, ...more } : { ...more };
}
async function send(method, path, { json, headers, signal } = {}) {
  const request = { method, signal, headers: headersOf(headers), cache: "no-store", redirect: "error" };
  if (json !== undefined) {
    request.headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(json);
  }
  let response;
  try { response = await fetch(path, request); } catch (error) {
    if (error.name === "AbortError") { throw error; }
    throw new Problem(0, "The service can't be reached: is it still running?");
  }
  if (!response.ok) { throw refusal(response.status, await response.text(), response.headers.get("Retry-After")); }
  return response;
}
async function getJson(path) { return (await send("GET", path)).json(); }

/* The messages of a stream of the service, [id, event] each, until it ends or the signal ends it. */
async function* messagesOf(body, signal) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const cancel = () => reader.cancel().catch(() => { /* it has broken off */ });
  signal.addEventListener("abort", cancel);
  let line = "", id = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) { return; }
      /* Only the new piece is looked through: a picture comes in hundreds of them, as one line. */
      const ends = value.split("\n");
      for (const end of ends.slice(0, -1)) {
        line += end;
        if (line.startsWith("id: ")) { id = Number(line.slice(4)); }
        if (line.startsWith("data: ")) { yield [id, JSON.parse(line.slice(6))]; }
        line = "";
      }
      line += ends[ends.length - 1];
      if (line.length > LINE_MAX) { throw new Problem(500, "An event of the service is too large."); }
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}
/* Waits so long, or until the browser is online, the tab is seen or left, or the signal ends it. */
function pauseFor(milliseconds, signal) {
  const over = new AbortController();
  return new Promise((done) => {
    setTimeout(done, milliseconds);
    [[window, "online"], [document, "visibilitychange"], [signal, "abort"]].forEach(([place, name]) => {
      place.addEventListener(name, done, { signal: over.signal });
    });
  }).finally(() => over.abort());
}
/* Reads a run's events to the last one, over lost connections; `lost` is told a problem, or null
   when it is over. A run that the service does not know, or does not give us, is an error.
   A tab that nobody sees keeps no connection, as a browser opens six to a service for all its tabs:
   it looks now and then whether there are new events, and reads those. */
async function followRun(run, opened, signal, take, lost) {
  let stream = opened, pause = 250;
  while (!signal.aborted) {
    const left = new AbortController();
    const leave = () => left.abort();
    signal.addEventListener("abort", leave);
    document.addEventListener("visibilitychange", leave);
    try {
      const until = document.hidden ? (await getJson("runs/" + run.id)).last_event : Infinity;
      if (until > run.last) {
        const headers = { Accept: "text/event-stream", "Last-Event-ID": String(run.last) };
        stream = stream || await send("GET", "runs/" + run.id + "/events", { headers, signal: left.signal });
        lost(null);
        for await (const [id, event] of messagesOf(stream.body, left.signal)) {
          pause = 250;
          if (!(id > run.last)) { continue; }  /* it has come before */
          run.last = id;
          take(event);
          if (run.isDone) { return; }  /* now: what is asked next need not wait for the stream's end */
          if (id >= until) { break; }
        }
        if (until === Infinity && !left.signal.aborted) { throw new Problem(0, LOST); }
      }
    } catch (error) {
      if (signal.aborted) { return; }
      if (error instanceof SyntaxError) { throw new Problem(500, "The service told an event that is no JSON."); }
      if (error.status >= 400 && error.status < 500 && error.status !== 429) { throw error; }
      if (!left.signal.aborted) { lost(error instanceof Problem ? error : new Problem(0, LOST)); }
    } finally {
      signal.removeEventListener("abort", leave);
      document.removeEventListener("visibilitychange", leave);
    }
    stream = null;
    if (left.signal.aborted && !document.hidden) { continue; }
    await pauseFor(document.hidden ? LOOK_MS : pause * (1 + Math.random() / 4), signal);
    pause = Math.min(pause * 2, PAUSE_MAX);
  }
}

/* Sends a file with its progress, which fetch does not tell. */
function sendFile(path, file, progress, signal) {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open("PUT", path);
    Object.entries(headersOf({ "Content-Type": "application/octet-stream" })).forEach((pair) => request.setRequestHeader(...pair));
    request.upload.addEventListener("progress", (event) => { if (event.lengthComputable) { progress(event.loaded / event.total); } });
    request.addEventListener("load", () => {
      if (request.status < 300) { done(); return; }
      failed(refusal(request.status, request.responseText, request.getResponseHeader("Retry-After")));
    });
    request.addEventListener("error", () => failed(new Problem(0, "The connection was lost before the file had arrived.")));
    request.addEventListener("abort", () => failed(new Problem(0, "Not added.")));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}
