/* The list of conversations: search, choose, rename, delete; and the token, where the service wants one. */
const LIST_PAGE = 50, LIST_MAX = 500;

const list = { entries: [], before: null, renamed: null, box: byId("list") };  /* what was just renamed fits any search */

function titleOf(id) { return (list.entries.find((each) => each.id === id) || {}).title || ""; }
async function refreshList() {
  try {
    const told = await getJson("chats?limit=" + Math.max(LIST_PAGE, Math.min(list.entries.length, LIST_MAX)));
    list.entries = told.chats;
    list.before = told.before;
    note("");
  } catch (problem) {
    note(problem.status === 401 ? "" : problem.message);
    return;
  }
  showList();
  chat.title = titleOf(chat.id) || chat.title;
  showTitle();
}
async function moreOfList(limit) {
  const before = list.before;
  try {
    const told = await getJson("chats?limit=" + limit + "&before=" + before);
    if (list.before !== before) { return; }  /* they have come meanwhile */
    list.entries = list.entries.concat(told.chats);
    list.before = told.before;
  } catch (problem) { note(problem.message); }
  showList();
}
/* What is searched for may stand among those that were not asked for as yet. */
function searchList() {
  list.renamed = null;
  showList();
  if (list.before !== null) { moreOfList(LIST_MAX); }
}
function note(words) {
  byId("listnote").textContent = shown(words);
  byId("listnote").hidden = !words;
}
function choices() { return [...list.box.querySelectorAll(".choice")]; }
function showList() {
  const wanted = byId("search").value.trim().toLowerCase();
  const focused = list.box.contains(document.activeElement) ? document.activeElement.dataset.id : null;
  const fitting = list.entries.filter((each) => each.id === list.renamed || each.title.toLowerCase().includes(wanted));
  list.box.replaceChildren(...fitting.map(entryOf));
  if (list.before !== null) {
    const item = element("li");
    item.append(button("Earlier conversations", () => moreOfList(LIST_PAGE), "earlier"));
    list.box.append(item);
  }
  if (!fitting.length) { list.box.append(element("li", "quiet", wanted ? "Nothing fits." : "No conversation yet.")); }
  markCurrent(chat.id);
  const again = focused && choices().find((each) => each.dataset.id === focused);
  if (again) { again.focus(); }
}
function entryOf(entry) {
  const item = element("li"), name = cut(entry.title, 100);
  const open = button("", () => { closeDrawer("conversations"); turnTo(entry.id); message.focus(); }, "choice");
  open.dataset.id = entry.id;
  open.append(element("bdi", "", cut(entry.title, 200) || "(no title)"), element("span", "quiet", whenText(entry.last_used)));
  const rename = button("✎", () => renameConversation(entry), "tool"), remove = button("✕", () => deleteConversation(entry), "tool remove");
  rename.setAttribute("aria-label", "Rename the conversation " + name);
  remove.setAttribute("aria-label", "Delete the conversation " + name);
  item.append(open, rename, remove);
  return item;
}
function whenText(seconds) {
  const then = new Date(seconds * 1000), now = new Date();
  if (then.toDateString() === now.toDateString()) { return then.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }); }
  return then.toLocaleDateString([], then.getFullYear() === now.getFullYear() ? { day: "numeric", month: "short" } : {});
}
function markCurrent(id) {
  choices().forEach((each) => { if (each.dataset.id === id) { each.setAttribute("aria-current", "page"); } else { each.removeAttribute("aria-current"); } });
}
async function renameConversation(entry) {
  const name = await askUser("Rename the conversation", "", "Rename", { label: "Its name", input: lineInput("text", entry.title) });
  if (name === null) { return; }
  try { await send("PATCH", "chat/" + pathOf(entry.id), { json: { name } }); } catch (problem) { note(problem.message); return; }
  list.renamed = entry.id;
  await refreshList();
  const renamed = choices().find((each) => each.dataset.id === entry.id);
  if (renamed) { renamed.focus(); }
}
async function deleteConversation(entry) {
  if (await askUser("Delete “" + cut(entry.title || entry.id, 100) + "”?", "It is gone for good.", "Delete") === null) { return; }
  try { await send("DELETE", "chat/" + pathOf(entry.id)); } catch (problem) {
    note(problem.status === 409 ? "It answers a request just now; stop that first." : problem.message);
    return;
  }
  if (chat.id === entry.id) { openConversation(null); }
  await refreshList();
  byId("search").focus();
}
function listKey(event) {
  const entries = choices(), at = entries.indexOf(document.activeElement);
  const isSearch = document.activeElement.id === "search";
  const steps = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: entries.length - 1 };
  if (!entries.length || !(event.key in steps) || (isSearch && event.key !== "ArrowDown") || (at < 0 && !isSearch)) { return; }
  event.preventDefault();
  const next = event.key === "ArrowUp" && at === 0 ? byId("search") : entries[Math.min(steps[event.key], entries.length - 1)];
  next.focus();
}

/* Asks for the token; it stays in this tab's storage and goes with the tab. */
async function askToken() {
  if (document.querySelector("dialog[open]")) { return; }
  const wrong = sessionStorage.getItem(TOKEN) ? "That was not the right one. " : "";
  sessionStorage.removeItem(TOKEN);
  const token = await askUser("The service wants a token", wrong + "It stays in this tab, and is forgotten when you close it.", "Use it",
    { label: "Token of the service", input: lineInput("password", "") });
  if (token === null) { return; }
  sessionStorage.setItem(TOKEN, token);
  beginPage();
}
