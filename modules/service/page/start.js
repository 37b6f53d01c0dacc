/* Puts the page together: buttons, keys, drops, and what is looked at again as time goes by. */
const LOOK_SECONDS = 5;

function openDrawer(id) {
  const drawer = document.getElementById(id);
  const opener = document.querySelector("[aria-controls=" + id + "]");
  opener.setAttribute("aria-expanded", "true");
  drawer.hidden = false;
  drawer.classList.add("shown");
  if (id === "panel") { fillPanel(); }
}
function closeDrawer(id) {
  const drawer = document.getElementById(id);
  const opener = document.querySelector("[aria-controls=" + id + "]");
  if (!drawer.classList.contains("shown")) { return false; }
  const hadFocus = drawer.contains(document.activeElement);
  opener.setAttribute("aria-expanded", "false");
  drawer.classList.remove("shown");
  if (id === "panel") { drawer.hidden = true; }
  if (hadFocus && opener.offsetParent) { opener.focus(); }
  return true;
}
function toggleDrawer(id) {
  if (closeDrawer(id)) { return; }
  openDrawer(id);
  document.getElementById(id).querySelector("input, .close").focus();
}

function onClick(id, act) { document.getElementById(id).addEventListener("click", act); }
onClick("new", function () { closeDrawer("conversations"); openConversation(null); message.focus(); });
onClick("openlist", function () { toggleDrawer("conversations"); });
onClick("openpanel", function () { toggleDrawer("panel"); });
onClick("stop", stopRun);
onClick("newest", function () { chat.isNear = true; keepEndInSight(); });
onClick("skip", function (event) { event.preventDefault(); message.focus(); });
["add", "choose"].forEach(function (id) { onClick(id, function () { document.getElementById("files").click(); }); });
document.querySelectorAll(".close").forEach(function (each) {
  each.addEventListener("click", function () { closeDrawer(each.dataset.closes); });
});
document.getElementById("files").addEventListener("change", function (event) {
  addFiles(event.target.files);
  event.target.value = "";
});
document.getElementById("search").addEventListener("input", showList);
document.getElementById("compose").addEventListener("submit", function (event) { event.preventDefault(); sendMessage(); });
message.addEventListener("input", fitMessage);
message.addEventListener("keydown", function (event) {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); sendMessage(); }
});
log.addEventListener("scroll", scrolled, { passive: true });
new ResizeObserver(keepEndInSight).observe(log);

document.addEventListener("keydown", function (event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) { return; }
  const active = document.activeElement;
  if (document.querySelector("dialog[open]")) { return; }
  if (event.key === "Escape") {
    if (!closeDrawer("panel") && !closeDrawer("conversations")) { stopRun(); }
    return;
  }
  if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(active.tagName)) {
    event.preventDefault();
    if (getComputedStyle(document.getElementById("openlist")).display !== "none") { openDrawer("conversations"); }
    document.getElementById("search").focus();
    return;
  }
  listKey(event);
});

/* Files may be dropped anywhere; the browser's own way would leave the page for the file. */
function isOfFiles(event) { return event.dataTransfer && [...event.dataTransfer.types].includes("Files"); }
["dragenter", "dragover"].forEach(function (name) {
  document.addEventListener(name, function (event) {
    if (!isOfFiles(event)) { return; }
    event.preventDefault();
    document.getElementById("drop").hidden = false;
  });
});
document.addEventListener("dragleave", function (event) { if (!event.relatedTarget) { document.getElementById("drop").hidden = true; } });
document.addEventListener("drop", function (event) {
  if (!isOfFiles(event)) { return; }
  event.preventDefault();
  document.getElementById("drop").hidden = true;
  addFiles(event.dataTransfer.files);
});

/* The conversation that the address names; null for a new one. */
function idOfAddress() {
  try { return decodeURI(location.hash.slice(1)) || null; } catch { return null; }  /* half an escape */
}
window.addEventListener("hashchange", function () {
  if (idOfAddress() !== chat.id) { openConversation(idOfAddress()); }
});
document.addEventListener("visibilitychange", look);
setInterval(look, LOOK_SECONDS * 1000);
setInterval(function () { if (chat.view) { drawSoon(chat.view.tick); } }, 1000);
async function look() {
  if (document.hidden || document.querySelector("dialog[open]")) { return; }
  try { await lookAgain(); } catch { /* the service may be away: what is done next tells it */ }
}

/* Begins, and once more when there is a token; what the user has begun meanwhile stays. */
function beginPage() {
  const kept = keptRun(), id = idOfAddress();
  openConversation(id);
  if (matchMedia("(pointer: fine)").matches) { message.focus(); }  /* on a phone the keyboard would hide the page */
  if (!id && kept) { follow(makeRun(kept, ""), null, chat.ended); }
  refreshList();
  getJson("profiles").then(showProfiles).catch(function () { /* the one profile does */ });
}
function showProfiles(told) {
  const select = document.getElementById("profile");
  const usable = told.profiles.filter(function (each) { return !each.problem; });
  select.replaceChildren(...usable.map(function (each) {
    const option = element("option", "", each.name);
    option.value = each.name;
    option.title = shown(each.description);
    option.selected = each.name === "default";
    return option;
  }));
  showState();
}
beginPage();
