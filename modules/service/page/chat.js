/* The conversation on the page: its messages, the run that is followed, the message that is written. */
const RUN_KEPT = "cortex-r run";  /* in this tab's storage: the run that a reload goes on with */

const chat = {
  id: null,  /* of the conversation; null in a new one */
  profile: "",  /* that it belongs to; "" in a new one */
  view: null,  /* of the run that is followed */
  ended: null,  /* stops what is loaded or followed for this conversation */
  known: "",  /* what the history was when it was drawn */
  tokens: 0,
  cost: 0,
  isNear: true,  /* the end of the messages is in sight: what comes is scrolled to */
};
const log = document.getElementById("log");
const message = document.getElementById("message");

function showProblem(words) { document.getElementById("problem").textContent = shown(words || ""); }
function showBanner(words) {
  const banner = document.getElementById("banner");
  banner.textContent = shown(words || "");
  banner.hidden = !words;
}
function showTitle(title) {
  document.querySelector("#title bdi").textContent = shown(title || "New conversation");
  document.title = (title ? cut(shown(title), 60) + " · " : "") + "Cortex-R";
}
function showUsed() {
  document.getElementById("used").textContent = chat.tokens
    ? count(chat.tokens, "token") + (chat.cost ? " · " + costText(chat.cost) : "") : "";
}
function showState() {
  const isGoing = chat.view !== null;
  const stop = document.getElementById("stop");
  stop.hidden = !isGoing;
  stop.disabled = false;
  stop.textContent = "Stop";
  document.getElementById("send").hidden = isGoing;
  document.getElementById("profilelabel").hidden = chat.id !== null || document.getElementById("profile").length < 2;
}
function scrolled() {
  chat.isNear = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  document.getElementById("newest").hidden = chat.isNear;
}
function keepEndInSight() { if (chat.isNear) { log.scrollTop = log.scrollHeight; } }

/* Shows a conversation, or a new one (null). */
async function openConversation(id) {
  if (chat.ended) { chat.ended.abort(); }
  const ended = new AbortController();
  Object.assign(chat, { id: id, profile: "", view: null, ended: ended, known: "", tokens: 0, cost: 0, isNear: true });
  log.replaceChildren();
  showProblem("");
  showBanner("");
  showTitle(id ? titleOf(id) : "");
  showUsed();
  showState();
  history.replaceState(null, "", id ? "#" + id : location.pathname + location.search);
  markCurrent(id);
  if (!id) { showEmpty(); return; }
  log.setAttribute("aria-busy", "true");
  try {
    const told = await getJson("chat/" + pathOf(id) + "/history");
    if (ended.signal.aborted) { return; }
    drawHistory(told, ended);
    await drawKept(id, ended.signal);
  } catch (problem) {
    if (ended.signal.aborted) { return; }
    if (problem.status === 404) {
      openConversation(null);
      showProblem("There is no such conversation any more; here a new one begins.");
      return;
    }
    showProblem(problem.message);
  } finally {
    if (!ended.signal.aborted) { log.removeAttribute("aria-busy"); }
  }
}
/* They are answered without a model, too. */
const EXAMPLES = ["what can you do?", "15% of 80", "list my documents"];
function showEmpty() {
  const box = element("div", "empty");
  box.append(element("p", "", "Ask something, or drop files to ask about them."));
  EXAMPLES.forEach(function (text) {
    box.append(button(text, function () { message.value = text; fitMessage(); message.focus(); }, "example"));
  });
  log.append(box);
}
function signOf(told) {
  return JSON.stringify([told.run, told.messages.map(function (each) { return [each.role, each.at, each.content.length, each.undone]; })]);
}
function drawHistory(told, ended) {
  chat.known = signOf(told);
  chat.profile = told.profile;
  told.messages.forEach(function (each) {
    const article = each.role === "user" ? drawRequest(each.content, each.at) : drawKeptAnswer(each.content);
    if (each.undone) { article.classList.add("undone"); article.prepend(element("p", "quiet", "taken back")); }
  });
  if (told.messages.length) { showTitle(told.title || titleOf(chat.id) || oneLine(told.messages[0].content, 80)); }
  keepEndInSight();
  if (told.run) { follow(makeRun(told.run, ""), null, ended); }
}
function drawRequest(text, at) {
  const article = element("article", "request");
  article.setAttribute("aria-label", "You");
  if (at) { article.title = new Date(at * 1000).toLocaleString(); }
  article.append(element("div", "text", text));
  article.at = at;
  const empty = log.querySelector(".empty");
  if (empty) { empty.remove(); }
  log.append(article);
  return article;
}
function drawKeptAnswer(content) {
  const article = element("article", "answer");
  article.setAttribute("aria-label", "Answer");
  const text = element("div", "markdown");
  article.append(text);
  drawAnswer(text, content);
  log.append(article);
  return article;
}
/* Puts the steps of kept runs over their answers: the same spans as those of the trace page. */
async function drawKept(id, signal) {
  const trace = await getJson("chat/" + pathOf(id) + "/trace");
  if (signal.aborted) { return; }
  const requests = [...log.querySelectorAll(".request")];
  trace.runs.forEach(function (run) {
    const place = requests.findIndex(function (each) { return Math.abs(each.at - run.started_at) < 0.5; });
    const request = place < 0 ? null : requests.splice(place, 1)[0];
    let answer = request && request.nextElementSibling;
    if (answer && answer.querySelector(".work")) { return; }  /* it is followed: its end tells what it used */
    chat.tokens += run.tokens;
    chat.cost += run.cost;
    if (!request) { return; }
    if (!answer || !answer.classList.contains("answer")) {
      answer = element("article", "answer");
      answer.setAttribute("aria-label", "Answer");
      answer.append(element("p", "trouble", run.note || "There is no answer."));
      request.after(answer);
    }
    answer.prepend(keptWork(run));
  });
  showUsed();
  keepEndInSight();
}

/* Until a new conversation has its id, a reload finds the run by this. */
function keptRun() { return sessionStorage.getItem(RUN_KEPT); }
function keepRun(id) { if (id) { sessionStorage.setItem(RUN_KEPT, id); } else { sessionStorage.removeItem(RUN_KEPT); } }

/* Follows a run to its end; `opened` is the stream that its request has opened, if it has. */
async function follow(run, opened, ended) {
  const view = answerView(run);
  chat.view = view;
  log.append(view.article);
  showState();
  keepEndInSight();
  if (!chat.id) { keepRun(run.id); }
  function draw() { view.draw(); keepEndInSight(); }
  function take(event) {
    addEvent(run, event);
    if (event.type === "run.started" && !event.step) { started(run, view); }
    drawSoon(draw);
  }
  let failed = null;
  try {
    await followRun(run, opened, ended.signal, take, function (problem) {
      showBanner(problem ? problem.message + " The page tries again by itself." : "");
    });
  } catch (problem) { failed = problem; }
  if (ended.signal.aborted) { return; }
  keepRun(null);
  chat.view = null;
  draw();
  if (failed) {
    view.article.classList.remove("going");
    view.tell(failed.status === 404 ? "The service does not know this run any more." : failed.message);
  } else {
    chat.tokens += run.span.tokens;
    chat.cost += run.span.cost;
    say(run.answer ? "Answer: " + run.answer : endOfRun(run));
  }
  showBanner("");
  showUsed();
  showState();
  refreshList();
  if (chat.id) { await noteHistory(chat.id, ended.signal); }
}
function started(run, view) {
  if (!chat.id && run.conversation) {
    chat.id = run.conversation;
    history.replaceState(null, "", "#" + chat.id);
    refreshList();
  }
  if (!titleOf(chat.id)) { showTitle(oneLine(run.span.name, 80)); }
  keepRun(null);
  const before = view.article.previousElementSibling;
  if (!before || !before.classList.contains("request")) { log.insertBefore(drawRequest(run.span.name, run.span.started_at), view.article); }
  showState();
}
async function noteHistory(id, signal) {
  try {
    const told = await getJson("chat/" + pathOf(id) + "/history");
    if (!signal.aborted) {
      chat.known = signOf(told);
      chat.profile = told.profile;
    }
  } catch { /* the next look at it tells */ }
}
/* Looks whether another tab, or the terminal, has gone on with the conversation. */
async function lookAgain() {
  const id = chat.id, ended = chat.ended;
  if (!id || chat.view || document.hidden || !chat.known) { return; }
  const told = await getJson("chat/" + pathOf(id) + "/history");
  if (ended.signal.aborted || chat.view || signOf(told) === chat.known) { return; }
  await openConversation(id);
}

async function sendMessage() {
  const text = message.value.trim();
  if (!text) { message.focus(); return; }
  const button = document.getElementById("send");
  if (chat.view || button.disabled) { showProblem("One request at a time: wait for this answer, or stop it."); return; }
  showProblem("");
  const ended = chat.ended;
  const asked = { message: text, on_disconnect: "continue" };
  if (chat.id) { asked.conversation_id = chat.id; }
  const profile = document.getElementById("profile");
  if (!chat.id && profile.value && profile.length > 1) { asked.profile = profile.value; }
  const request = drawRequest(text, Date.now() / 1000);
  message.value = "";
  fitMessage();
  chat.isNear = true;
  keepEndInSight();
  button.disabled = true;
  try {
    const response = await send("POST", "chat", { json: asked, signal: ended.signal });
    follow(makeRun(response.headers.get("X-Run-Id"), text), response, ended);
  } catch (problem) {
    if (ended.signal.aborted) { return; }
    request.remove();
    if (!log.childNodes.length) { showEmpty(); }
    if (!message.value) { message.value = text; fitMessage(); }
    if (problem.status !== 409) { showProblem(problem.message); return; }
    chat.known = chat.known || "[]";
    await lookAgain().catch(function () { /* it is told all the same */ });
    showProblem("This conversation is answering another request, perhaps of another tab. It is shown here; send yours when it is done.");
  } finally {
    button.disabled = false;
  }
}
async function stopRun() {
  if (!chat.view) { return; }
  const stop = document.getElementById("stop"), id = chat.view.run.id;
  stop.disabled = true;
  stop.textContent = "Stopping…";
  try { await send("DELETE", "runs/" + pathOf(id)); } catch (problem) {
    showState();
    if (problem.status !== 404) { showProblem(problem.message); }
  }
}
/* Makes the field as high as its text, up to a third of the window. */
function fitMessage() {
  message.style.height = "auto";
  message.style.height = Math.min(message.scrollHeight + 2, window.innerHeight / 3) + "px";
}
