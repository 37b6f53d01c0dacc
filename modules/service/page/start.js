/* Puts the page together: buttons, keys, drops, and what is looked at again as time goes by. */
function openerOf(id) { return document.querySelector("[aria-controls=" + id + "]"); }
function openDrawer(id) {
  openerOf(id).setAttribute("aria-expanded", "true");
  byId(id).hidden = false;
  byId(id).classList.add("shown");
  if (id === "panel") { fillPanel(); }
}
function closeDrawer(id) {
  const drawer = byId(id), opener = openerOf(id), hadFocus = drawer.contains(document.activeElement);
  if (!drawer.classList.contains("shown")) { return false; }
  opener.setAttribute("aria-expanded", "false");
  drawer.classList.remove("shown");
  if (id === "panel") { drawer.hidden = true; }
  if (hadFocus && opener.offsetParent) { opener.focus(); }
  return true;
}
function onClick(id, act) { byId(id).addEventListener("click", act); }
["conversations", "panel"].forEach((id) => openerOf(id).addEventListener("click", () => {
  if (closeDrawer(id)) { return; }
  openDrawer(id);
  byId(id).querySelector("input, .close").focus();
}));
document.querySelectorAll(".close").forEach((each) => each.addEventListener("click", () => closeDrawer(each.dataset.closes)));
onClick("new", () => { closeDrawer("conversations"); turnTo(null); message.focus(); });
onClick("stop", stopRun);
onClick("newest", () => { chat.isNear = true; keepEndInSight(); });
onClick("skip", (event) => { event.preventDefault(); message.focus(); });
["add", "choose"].forEach((id) => onClick(id, () => byId("files").click()));
byId("files").addEventListener("change", (event) => {
  addFiles(event.target.files);
  event.target.value = "";
});
byId("search").addEventListener("input", searchList);
byId("compose").addEventListener("submit", (event) => { event.preventDefault(); sendMessage(); });
message.addEventListener("input", fitMessage);
message.addEventListener("keydown", (event) => { if (isSending(event)) { event.preventDefault(); sendMessage(); } });
log.addEventListener("scroll", scrolled, { passive: true });
new ResizeObserver(keepEndInSight).observe(log);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) { return; }
  if (event.key === "Escape") {
    if (!closeDrawer("panel") && !closeDrawer("conversations")) { stopRun(); }
  } else if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
    event.preventDefault();
    if (openerOf("conversations").offsetParent) { openDrawer("conversations"); }
    byId("search").focus();
  } else { listKey(event); }
});

/* Files may be dropped anywhere; the browser's own way would leave the page for the file. */
function onFiles(name, isOver, act) {
  document.addEventListener(name, (event) => {
    if (!event.dataTransfer || !event.dataTransfer.types.includes("Files")) { return; }
    event.preventDefault();
    byId("drop").hidden = !isOver;
    if (act) { act(event.dataTransfer.files); }
  });
}
onFiles("dragenter", true);
onFiles("dragover", true);
onFiles("drop", false, addFiles);
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) { byId("drop").hidden = true; } });

/* The conversation that the address names; null for a new one. */
function idOfAddress() {
  try { return decodeURI(location.hash.slice(1)) || null; } catch { return null; }  /* half an escape */
}
/* Shows another conversation; the browser's way back leads to this one. */
function turnTo(id) {
  if (id !== idOfAddress()) { history.pushState(null, ""); }
  openConversation(id);
}
window.addEventListener("hashchange", () => { if (idOfAddress() !== chat.id) { openConversation(idOfAddress()); } });
document.addEventListener("visibilitychange", look);
setInterval(look, LOOK_MS);
setInterval(() => { if (chat.view) { drawSoon(chat.view.tick); } }, 1000);
async function look() {
  if (document.hidden) { return; }
  chat.isUnseen = false;
  showTitle();
  if (document.querySelector("dialog[open]")) { return; }
  try { await lookAgain(); } catch { /* the service may be away: what is done next tells it */ }
  if (document.querySelector("#panel.shown .waiting")) { showDocuments(); }  /* one may have been read meanwhile */
}

/* Begins, and once more when there is a token; what the user has begun meanwhile stays. */
function beginPage() {
  const kept = sessionStorage.getItem(RUN_KEPT), id = idOfAddress();
  openConversation(id);
  if (hasKeys.matches) { message.focus(); }  /* on a phone the keyboard would hide the page */
  if (!id && kept) { follow(makeRun(kept, ""), null, chat.ended); }
  refreshList();
  getJson("profiles").then(showProfiles).catch(() => { /* the one profile does */ });
}
function showProfiles(told) {
  profiles.replaceChildren(...told.profiles.filter((each) => !each.problem).map((each) => {
    const option = element("option", "", each.name, { value: each.name, title: each.description });
    option.selected = each.name === "default";
    return option;
  }));
  showState();
}
beginPage();
