/* What is asked of the service: requests, problems in words, streams of events that go on. */
const TOKEN = "cortex-r token";  /* in the storage of this tab alone: it ends with the tab */
const LINE_MAX = 64 * 1024 * 1024;  /* a longer line of a stream is none of the service's */
const PAUSE_MAX = 15000;

/* A problem that the service tells, or that there is with reaching it (status 0). */
class Problem extends Error {
  constructor(status, told) {
    super(told.detail || told.title || "The service answered with status " + status + ".");
    this.status = status;
    this.told = told;
  }
}
function pathOf(id) { return id.split("/").map(encodeURIComponent).join("/"); }

function headersOf(more) {
  const token = sessionStorage.getItem(TOKEN);
  return token ? Object.assign({ Authorization: "Bearer " + token }, more) : Object.assign({}, more);
}
async function send(method, path, options) {
  const given = options || {};
  const headers = headersOf(given.headers);
  const request = { method: method, headers: headers, signal: given.signal, cache: "no-store", redirect: "error" };
  if (given.json !== undefined) {
    headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(given.json);
  }
  let response;
  try {
    response = await fetch(path, request);
  } catch (error) {
    if (error.name === "AbortError") { throw error; }
    throw new Problem(0, { detail: "The service can't be reached: is it still running?" });
  }
  if (!response.ok) {
    let told = {};
    try { told = await response.json(); } catch { /* a proxy's page: the status has to do */ }
    throw noted(problemOf(response.status, told, response.headers.get("Retry-After")));
  }
  return response;
}
function problemOf(status, told, after) {
  const problem = new Problem(status, told && typeof told === "object" ? told : {});
  const seconds = Number(after);
  if (seconds > 0 && (status === 429 || status === 503)) { problem.message += " Try again in " + count(seconds, "second") + "."; }
  return problem;
}
function noted(problem) {
  if (problem.status === 401) { askToken(problem.message); }
  return problem;
}
async function getJson(path) { return (await send("GET", path)).json(); }

/* The messages of a stream of server-sent events: { id, data } each, as they come. */
async function* messagesOf(body) {
  const reader = body.getReader(), decoder = new TextDecoder();
  let line = "", last = "", message = { id: "", data: "" }, isOver = false;
  try {
    for (;;) {
      const piece = await reader.read();
      if (piece.done) { isOver = true; return; }
      /* Only the new piece is looked through: a picture comes in hundreds of them, as one line. */
      const text = decoder.decode(piece.value, { stream: true });
      const ends = text.split(/\r\n|\n|\r/);
      if (last === "\r" && text[0] === "\n") { ends.shift(); }
      last = text.slice(-1);
      for (let place = 0; place < ends.length - 1; place += 1) {
        line += ends[place];
        if (line === "") {
          if (message.data) { yield message; }
          message = { id: message.id, data: "" };
        } else { readField(line, message); }
        line = "";
      }
      line += ends[ends.length - 1];
      if (line.length + message.data.length > LINE_MAX) { throw new Problem(500, { detail: "An event of the service is too large." }); }
    }
  } finally {
    if (!isOver) { reader.cancel().catch(function () { /* it has broken off */ }); }
  }
}
function readField(line, message) {
  const colon = line.indexOf(":");
  const name = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
  if (name === "data") { message.data += (message.data ? "\n" : "") + value; }
  if (name === "id") { message.id = value; }
}

/* Waits so long, or until the browser is online again, or the signal ends it. */
function pauseFor(milliseconds, signal) {
  return new Promise(function (done) {
    const timer = setTimeout(over, milliseconds);
    function over() {
      clearTimeout(timer);
      window.removeEventListener("online", over);
      signal.removeEventListener("abort", over);
      done();
    }
    window.addEventListener("online", over);
    signal.addEventListener("abort", over);
  });
}
/* Reads a run's events to the last one, over lost connections; `lost` is told a problem, or null
   when it is over. A run that the service does not know, or does not give us, is an error. */
async function followRun(run, opened, signal, take, lost) {
  let stream = opened, pause = 250;
  while (!signal.aborted) {
    try {
      if (!stream) {
        const headers = { Accept: "text/event-stream", "Last-Event-ID": String(run.last) };
        stream = await send("GET", "runs/" + pathOf(run.id) + "/events", { headers: headers, signal: signal });
      }
      lost(null);
      for await (const message of messagesOf(stream.body)) {
        pause = 250;
        const id = Number(message.id);
        if (!(id > run.last)) { continue; }  /* it has come before */
        run.last = id;
        take(JSON.parse(message.data));
      }
      if (run.isDone) { return; }
      lost(new Problem(0, { detail: "The connection was lost." }));
    } catch (error) {
      if (signal.aborted) { return; }
      if (error instanceof SyntaxError) { throw new Problem(500, { detail: "The service told an event that is no JSON." }); }
      if (error instanceof Problem && error.status >= 400 && error.status < 500 && error.status !== 429) { throw error; }
      lost(error instanceof Problem ? error : new Problem(0, { detail: "The connection was lost." }));
    }
    stream = null;
    await pauseFor(pause * (1 + Math.random() / 4), signal);
    pause = Math.min(pause * 2, PAUSE_MAX);
  }
}

/* Sends a file with its progress, which fetch does not tell. */
function sendFile(path, file, progress, signal) {
  return new Promise(function (done, failed) {
    const request = new XMLHttpRequest();
    request.open("PUT", path);
    Object.entries(headersOf({ "Content-Type": "application/octet-stream" })).forEach(function (pair) {
      request.setRequestHeader(pair[0], pair[1]);
    });
    request.upload.addEventListener("progress", function (event) {
      if (event.lengthComputable) { progress(event.loaded / event.total); }
    });
    request.addEventListener("load", function () {
      let told = {};
      try { told = JSON.parse(request.responseText); } catch { /* the status has to do */ }
      if (request.status >= 200 && request.status < 300) { done(told); return; }
      failed(noted(problemOf(request.status, told, request.getResponseHeader("Retry-After"))));
    });
    request.addEventListener("error", function () {
      failed(new Problem(0, { detail: "The connection was lost before the file had arrived." }));
    });
    request.addEventListener("abort", function () { failed(new Problem(0, { detail: "Not added." })); });
    signal.addEventListener("abort", function () { request.abort(); });
    request.send(file);
  });
}
