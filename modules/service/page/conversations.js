/* The list of conversations: search, choose, delete; and the token, where the service wants one. */
const LIST_PAGE = 50;

const list = { entries: [], before: null, box: document.getElementById("list") };

function titleOf(id) {
  const found = list.entries.find(function (each) { return each.id === id; });
  return found ? found.title || "" : "";
}
async function refreshList() {
  try {
    const told = await getJson("chats?limit=" + Math.max(LIST_PAGE, Math.min(list.entries.length, 500)));
    list.entries = told.chats;
    list.before = told.before;
    note("");
  } catch (problem) {
    note(problem.status === 401 ? "" : problem.message);
    return;
  }
  showList();
  if (chat.id && titleOf(chat.id)) { showTitle(titleOf(chat.id)); }
}
async function moreOfList() {
  try {
    const told = await getJson("chats?limit=" + LIST_PAGE + "&before=" + list.before);
    list.entries = list.entries.concat(told.chats);
    list.before = told.before;
  } catch (problem) { note(problem.message); }
  showList();
}
function note(words) {
  const place = document.getElementById("listnote");
  place.textContent = shown(words);
  place.hidden = !words;
}
function showList() {
  const wanted = document.getElementById("search").value.trim().toLowerCase();
  const focused = list.box.contains(document.activeElement) ? document.activeElement.dataset.id : null;
  const fitting = list.entries.filter(function (each) { return !wanted || (each.title || "").toLowerCase().includes(wanted); });
  list.box.replaceChildren(...fitting.map(entryOf));
  if (list.before !== null) {
    const item = element("li");
    item.append(button("Earlier conversations", moreOfList, "earlier"));
    list.box.append(item);
  }
  if (wanted && !fitting.length) { list.box.append(element("li", "quiet", "Nothing fits.")); }
  if (!list.entries.length) { list.box.append(element("li", "quiet", "No conversation yet.")); }
  markCurrent(chat.id);
  if (focused) {
    const again = [...list.box.querySelectorAll(".choice")].find(function (each) { return each.dataset.id === focused; });
    if (again) { again.focus(); }
  }
}
function entryOf(entry) {
  const item = element("li");
  const open = button("", function () { closeDrawer("conversations"); openConversation(entry.id); message.focus(); }, "choice");
  open.dataset.id = entry.id;
  open.append(element("bdi", "", cut(entry.title || "(no title)", 200)), element("span", "quiet", whenText(entry.last_used)));
  const remove = button("✕", function () { deleteConversation(entry); }, "remove");
  remove.setAttribute("aria-label", "Delete the conversation " + cut(entry.title || entry.id, 100));
  item.append(open, remove);
  return item;
}
function whenText(seconds) {
  const then = new Date(seconds * 1000), now = new Date();
  if (then.toDateString() === now.toDateString()) { return then.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }); }
  return then.toLocaleDateString([], then.getFullYear() === now.getFullYear() ? { day: "numeric", month: "short" } : {});
}
function markCurrent(id) {
  list.box.querySelectorAll(".choice").forEach(function (each) {
    if (each.dataset.id === id) { each.setAttribute("aria-current", "page"); } else { each.removeAttribute("aria-current"); }
  });
}
async function deleteConversation(entry) {
  if (!await confirmed("Delete “" + cut(entry.title || entry.id, 100) + "”? It is gone for good.", "Delete")) { return; }
  try {
    await send("DELETE", "chat/" + pathOf(entry.id));
  } catch (problem) {
    note(problem.status === 409 ? "It answers a request just now; stop that first." : problem.message);
    return;
  }
  if (chat.id === entry.id) { openConversation(null); }
  await refreshList();
  document.getElementById("search").focus();
}
function listKey(event) {
  const entries = [...list.box.querySelectorAll(".choice")];
  const at = entries.indexOf(document.activeElement);
  const isSearch = document.activeElement.id === "search";
  const steps = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: entries.length - 1 };
  if (!entries.length || !(event.key in steps) || (isSearch && event.key !== "ArrowDown") || (at < 0 && !isSearch)) { return; }
  event.preventDefault();
  if (event.key === "ArrowUp" && at === 0) { document.getElementById("search").focus(); return; }
  entries[Math.min(steps[event.key], entries.length - 1)].focus();
}

/* Asks for the token; it stays in this tab's storage and goes with the tab. */
function askToken(words) {
  if (document.querySelector(".token")) { return; }
  const dialog = element("dialog", "token"), form = element("form");
  const label = element("label", "", "Token of the service");
  const input = element("input");
  input.type = "password";
  input.id = newId();
  input.autocomplete = "off";
  input.required = true;
  label.htmlFor = input.id;
  const actions = element("div", "actions");
  actions.append(submit("Use it"));
  const head = element("h2", "", "The service wants a token");
  head.id = newId();
  dialog.setAttribute("aria-labelledby", head.id);
  form.append(head, element("p", "quiet", words + " It stays in this tab, and is forgotten when you close it."), label, input, actions);
  form.addEventListener("submit", function (event) {
    event.preventDefault();
    sessionStorage.setItem(TOKEN, input.value.trim());
    dialog.close();
  });
  dialog.addEventListener("close", function () {
    dialog.remove();
    if (sessionStorage.getItem(TOKEN)) { beginPage(); }
  });
  sessionStorage.removeItem(TOKEN);
  dialog.append(form);
  document.body.append(dialog);
  dialog.showModal();
}
