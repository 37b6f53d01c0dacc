/* The conversation on the page: its messages, the run that is followed, the message that is written. */
const RUN_KEPT = "cortex-r run";  /* in this tab's storage: the run that a reload goes on with */
const NEAR = 80;  /* pixels */

const chat = {
  id: null,  /* of the conversation; null in a new one */
  title: "",
  profile: "",  /* that it belongs to; "" in a new one */
  view: null,  /* of the run that is followed */
  ended: null,  /* stops what is loaded or followed for this conversation */
  known: "",  /* what the history was when it was drawn */
  tokens: 0,
  cost: 0,
  isNear: true,  /* the end of the messages is in sight: what comes is scrolled to */
  isUnseen: false,  /* an answer came while nobody saw the tab */
};
const hasKeys = matchMedia("(pointer: fine)");
const log = byId("log"), message = byId("message"), profiles = byId("profile");

function showProblem(words) { byId("problem").textContent = shown(words); }
function showBanner(words) {
  byId("banner").textContent = shown(words);
  byId("banner").hidden = !words;
}
/* What the conversation is called, and in the tab, among others, how it is. */
function showTitle() {
  const run = chat.view && chat.view.run;
  const state = run ? (run.questions.size ? "Asks you: " : "Working: ") : chat.isUnseen ? "Answered: " : "";
  byId("title").firstElementChild.textContent = shown(chat.title || "New conversation");
  document.title = state + (chat.title ? cut(shown(chat.title), 60) + " · " : "") + "Cortex-R";
}
function showUsed() {
  const tokens = element("span", chat.cost ? "wide" : "", chat.tokens ? count(chat.tokens, "token") + (chat.cost ? " · " : "") : "");
  byId("used").replaceChildren(tokens, chat.cost ? costText(chat.cost) : "");
}
function addUsed({ tokens, cost }) { chat.tokens += tokens; chat.cost += cost; }
function showState() {
  const stop = byId("stop");
  stop.hidden = !chat.view;
  stop.disabled = false;
  stop.textContent = "Stop";
  byId("send").hidden = Boolean(chat.view);
  byId("profilelabel").hidden = chat.id !== null || profiles.length < 2;
  showTitle();
}
function scrolled() {
  const size = log.clientWidth + " " + log.clientHeight;
  if (size !== log.size) { log.size = size; keepEndInSight(); return; }  /* the window has scrolled it, as it turned */
  chat.isNear = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR;
  byId("newest").hidden = chat.isNear;
}
function keepEndInSight() { if (chat.isNear) { log.scrollTop = log.scrollHeight; } }

/* Shows a conversation, or a new one (null). */
async function openConversation(id) {
  if (chat.ended) { chat.ended.abort(); }
  const ended = new AbortController();
  Object.assign(chat, { id, title: titleOf(id), profile: "", view: null, ended, known: "", tokens: 0, cost: 0, isNear: true, isUnseen: false });
  log.replaceChildren();
  showProblem("");
  showBanner("");
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
    if (problem.status === 404) { openConversation(null); }
    showProblem(problem.status === 404 ? "There is no such conversation any more; here a new one begins." : problem.message);
  } finally {
    if (!ended.signal.aborted) { log.removeAttribute("aria-busy"); }
  }
}
/* They are answered without a model, too. */
const EXAMPLES = ["what can you do?", "15% of 80", "list my documents"];
function showEmpty() {
  const box = element("div", "empty");
  box.append(element("p", "", "Ask something, or drop files to ask about them."), ...EXAMPLES.map((text) => button(text, () => setMessage(text), "example")));
  log.append(box);
}
/* What the history is now. */
function know(told) {
  chat.known = signOf(told);
  chat.profile = told.profile;
}
function signOf(told) { return JSON.stringify([told.run, told.messages.map((each) => [each.role, each.at, each.content.length, each.undone])]); }
function drawHistory(told, ended) {
  know(told);
  told.messages.forEach((each) => {
    const article = each.role === "user" ? drawRequest(each.content, each.at) : drawKeptAnswer(each.content);
    if (each.grounded === false) { article.querySelector(".markdown").after(ofOwnKnowledge()); }
    if (each.undone) { article.classList.add("undone"); article.prepend(element("p", "quiet", "taken back")); }
  });
  chat.title = told.title;
  showTitle();
  keepEndInSight();
  if (told.run) { follow(makeRun(told.run, ""), null, ended); }
}
function drawRequest(text, at) {
  const article = element("article", "request", undefined, { "aria-label": "You", title: new Date(at * 1000).toLocaleString() });
  article.append(element("div", "text", text));
  Object.assign(article, { at, text });
  const empty = log.querySelector(".empty");
  if (empty) { empty.remove(); }
  log.append(article);
  return article;
}
function drawKeptAnswer(content) {
  const article = element("article", "answer", undefined, { "aria-label": "Answer" }), text = element("div", "markdown");
  drawAnswer(text, content);
  article.append(text, actionsOf(content, ""));
  log.append(article);
  return article;
}
/* Puts the steps of kept runs over their answers: the same spans as those of the trace page. */
async function drawKept(id, signal) {
  const trace = await getJson("chat/" + pathOf(id) + "/trace");
  if (signal.aborted) { return; }
  const requests = [...log.querySelectorAll(".request")];
  trace.runs.forEach((run) => {
    const place = requests.findIndex((each) => Math.abs(each.at - run.started_at) < 0.5);
    const request = place < 0 ? null : requests.splice(place, 1)[0];
    let answer = request && request.nextElementSibling;
    if (answer && answer.querySelector(".work")) { return; }  /* it is followed: its end tells what it used */
    addUsed(run);
    if (!request) { return; }
    if (!answer || !answer.classList.contains("answer")) {
      answer = element("article", "answer", undefined, { "aria-label": "Answer" });
      answer.append(element("p", "trouble", run.note || "There is no answer."), actionsOf("", request.text));
      request.after(answer);
    }
    answer.prepend(keptWork(run));
  });
  showUsed();
  keepEndInSight();
}

/* Until a new conversation has its id, a reload finds the run by this. */
function keepRun(id) { if (id) { sessionStorage.setItem(RUN_KEPT, id); } else { sessionStorage.removeItem(RUN_KEPT); } }

/* Follows a run to its end; `opened` is the stream that its request has opened, if it has. */
async function follow(run, opened, ended) {
  const view = answerView(run);
  chat.view = view;
  log.append(view.article);
  showState();
  keepEndInSight();
  if (!chat.id) { keepRun(run.id); }
  const draw = () => { view.draw(); keepEndInSight(); };
  const take = (event) => {
    addEvent(run, event);
    if (event.type === "run.started" && !event.step) { started(run, view); }
    if (event.type.startsWith("clarify.")) { showTitle(); }
    drawSoon(draw);
  };
  let failed = null;
  try {
    await followRun(run, opened, ended.signal, take, (problem) => showBanner(problem ? problem.message + " The page tries again by itself." : ""));
  } catch (problem) { failed = problem; }
  if (ended.signal.aborted) { return; }
  keepRun(null);
  chat.view = null;
  chat.isUnseen = document.hidden;
  draw();
  if (failed) {
    view.tell(failed.status === 404 ? "The service does not know this run any more." : failed.message);
  } else {
    addUsed(run.span);
    say(run.answer ? "Answer: " + run.answer : endOfRun(run));
  }
  showBanner("");
  showUsed();
  showState();
  refreshList();
  try {
    const told = chat.id && await getJson("chat/" + pathOf(chat.id) + "/history");
    if (told && !ended.signal.aborted) { know(told); }
  } catch { /* the next look at it tells */ }
}
function started(run, view) {
  if (!chat.id && run.conversation) {
    chat.id = run.conversation;
    history.replaceState(null, "", "#" + chat.id);
    refreshList();
  }
  chat.title = chat.title || oneLine(run.span.name, 80);
  keepRun(null);
  const before = view.article.previousElementSibling;
  if (!before || !before.classList.contains("request")) { view.article.before(drawRequest(run.span.name, run.span.started_at)); }
  showState();
}
/* Looks whether another tab, or the terminal, has gone on with the conversation. */
async function lookAgain() {
  const { id, ended } = chat;
  if (!id || chat.view || !chat.known) { return; }
  const told = await getJson("chat/" + pathOf(id) + "/history");
  if (!ended.signal.aborted && !chat.view && signOf(told) !== chat.known) { await openConversation(id); }
}

async function sendMessage() {
  const text = message.value.trim(), sending = byId("send"), ended = chat.ended;
  if (!text) { message.focus(); return; }
  if (chat.view || sending.disabled) { showProblem("One request at a time: wait for this answer, or stop it."); return; }
  showProblem("");
  const json = { message: text, on_disconnect: "continue" };
  if (chat.id) { json.conversation_id = chat.id; } else if (profiles.length > 1) { json.profile = profiles.value; }
  const request = drawRequest(text, Date.now() / 1000);
  setMessage("");
  chat.isNear = true;
  keepEndInSight();
  sending.disabled = true;
  try {
    const response = await send("POST", "chat", { json, signal: ended.signal });
    follow(makeRun(response.headers.get("X-Run-Id"), text), response, ended);
  } catch (problem) {
    if (ended.signal.aborted) { return; }
    request.remove();
    if (!log.childNodes.length) { showEmpty(); }
    if (!message.value) { setMessage(text); }
    if (problem.status !== 409) { showProblem(problem.message); return; }
    chat.known = chat.known || "[]";
    await lookAgain().catch(() => { /* it is told all the same */ });
    showProblem("This conversation is answering another request, perhaps of another tab. It is shown here; send yours when it is done.");
  } finally {
    sending.disabled = false;
  }
}
async function stopRun() {
  if (!chat.view) { return; }
  byId("stop").disabled = true;
  byId("stop").textContent = "Stopping…";
  try { await send("DELETE", "runs/" + chat.view.run.id); } catch (problem) {
    showState();
    if (problem.status !== 404) { showProblem(problem.message); }
  }
}
/* Puts a text into the field, to be read again and sent. */
function setMessage(text) {
  message.value = text;
  fitMessage();
  message.focus();
}
/* Makes the field as high as its text, up to a third of the window. */
function fitMessage() {
  message.style.height = "auto";
  message.style.height = Math.min(message.scrollHeight + 2, window.innerHeight / 3) + "px";
}
/* On a phone, whose keyboard has no Shift+Enter, Enter begins a line. */
function isSending(event) { return event.key === "Enter" && !event.shiftKey && !event.isComposing && hasKeys.matches; }
