/* What stands beside the chat: documents and their upload, servers with their tools, what is spent. */
const UPLOADS_MAX = 200;  /* files of one drop */
const uploads = { waiting: [], isGoing: false };

/* What stands there is that of the profile of the conversation. */
function ofProfile(sign) {
  const profile = chat.profile || document.getElementById("profile").value;
  return profile ? sign + "profile=" + encodeURIComponent(profile) : "";
}
async function fillPanel() {
  await Promise.all([showDocuments(), showServers(), showBudgets()].map(function (shown) { return shown.catch(function () { /* told in its place */ }); }));
}
async function filled(id, path, draw) {
  const place = document.getElementById(id);
  try { draw(place, await getJson(path)); } catch (problem) {
    place.replaceChildren(element(place.tagName === "UL" ? "li" : "div", "trouble", problem.message));
  }
}

function showDocuments() {
  return filled("documents", "documents" + ofProfile("?"), function (place, told) {
    place.replaceChildren(...told.documents.map(function (each) {
      const item = element("li");
      item.append(element("bdi", "", each.name), element("span", "quiet", sizeText(each.size_bytes)));
      return item;
    }));
    if (told.is_cut) { place.append(element("li", "quiet", "There are more.")); }
    if (!told.documents.length) { place.append(element("li", "quiet", "No documents yet.")); }
  });
}
function sizeText(bytes) {
  if (typeof bytes !== "number") { return ""; }
  const units = ["B", "kB", "MB", "GB"];
  let size = bytes, unit = 0;
  while (size >= 1000 && unit < units.length - 1) { size /= 1000; unit += 1; }
  return size.toLocaleString("en", { maximumFractionDigits: unit && size < 10 ? 1 : 0 }) + " " + units[unit];
}
/* Files go up one after another; each tells its progress, or why it was not taken. */
function addFiles(files) {
  if (!files.length) { return; }
  openDrawer("panel");
  uploads.waiting.push(...[...files].slice(0, UPLOADS_MAX).map(function (file) { return uploadOf(file, false); }));
  if (files.length > UPLOADS_MAX) { showProblem("Only the first " + UPLOADS_MAX + " files are added: drop fewer at a time."); }
  uploadNext();
}
function uploadOf(file, isReplacing) {
  const item = element("li", "upload");
  const bar = element("progress"), state = element("span", "quiet", "waiting");
  bar.max = 1;
  bar.value = 0;
  bar.setAttribute("aria-label", "Upload of " + file.name);
  item.append(element("bdi", "", file.name), state, bar);
  document.getElementById("uploads").append(item);
  return { file: file, item: item, bar: bar, state: state, isReplacing: isReplacing };
}
async function uploadNext() {
  if (uploads.isGoing) { return; }
  uploads.isGoing = true;
  for (let each = uploads.waiting.shift(); each; each = uploads.waiting.shift()) { await upload(each); }
  uploads.isGoing = false;
  await showDocuments();
}
async function upload(given) {
  const ending = new AbortController();
  const cancel = button("Cancel", function () { ending.abort(); }, "small");
  given.item.append(cancel);
  given.state.textContent = sizeText(given.file.size);
  const path = "documents/" + encodeURIComponent(given.file.name) + "?replace=" + given.isReplacing + ofProfile("&");
  try {
    await sendFile(path, given.file, function (part) {
      given.bar.value = part;
      if (part === 1) { given.state.textContent = "being kept"; }
    }, ending.signal);
    given.state.textContent = "added";
    say(given.file.name + " was added to the documents.");
    setTimeout(function () { given.item.remove(); }, 5000);
  } catch (problem) {
    given.state.className = "trouble";
    given.state.textContent = shown(problem.message);
    say(given.file.name + " was not added: " + problem.message);
    const actions = element("span", "actions");
    if (problem.status === 409) {
      actions.append(button("Replace it", function () {
        given.item.remove();
        uploads.waiting.push(uploadOf(given.file, true));
        uploadNext();
      }, "small"));
    }
    actions.append(button("Dismiss", function () { given.item.remove(); }, "small"));
    given.item.append(actions);
  }
  given.bar.remove();
  cancel.remove();
}

function showServers() {
  return filled("servers", "servers" + ofProfile("?"), function (place, told) {
    const open = [...place.querySelectorAll("details[open]")].map(function (each) { return each.dataset.id; });
    place.replaceChildren(...told.servers.map(function (server) {
      const box = element("details"), head = element("summary");
      box.dataset.id = server.id;
      box.open = open.includes(server.id);
      const state = element("span", "state", server.state);
      state.dataset.state = server.state;
      head.append(element("bdi", "", server.id), state);
      box.append(head);
      if (server.problem) { box.append(element("p", "trouble", server.problem)); }
      const tools = element("ul");
      box.addEventListener("toggle", function () { if (box.open && !tools.childNodes.length) { fillTools(tools, server.id); } });
      if (box.open) { fillTools(tools, server.id); }
      box.append(tools);
      return box;
    }));
    if (!told.servers.length) { place.append(element("p", "quiet", "No servers are configured.")); }
  });
}
async function fillTools(place, server) {
  try {
    const told = await getJson("tools" + ofProfile("?"));
    const those = told.tools.filter(function (tool) { return tool.server === server; });
    place.replaceChildren(...those.map(function (tool) {
      const item = element("li");
      item.append(element("b", "", tool.name), " ", element("span", "quiet", oneLine(tool.description || "", 300)));
      return item;
    }));
    if (!those.length) { place.append(element("li", "quiet", "Its tools are not known until it has started.")); }
  } catch (problem) { place.replaceChildren(element("li", "trouble", problem.message)); }
}

function showBudgets() {
  const id = chat.id ? "conversation_id=" + encodeURIComponent(chat.id) : "";
  return filled("budgets", "budgets?" + id + ofProfile("&"), function (place, told) {
    const rows = element("dl");
    told.budgets.forEach(function (each) {
      const text = each.measure === "cost" ? costText : function (number) { return number.toLocaleString("en", { maximumFractionDigits: 1 }); };
      rows.append(element("dt", "", each.measure + ", " + each.scope), element("dd", "", text(each.spent) + " of " + text(each.most)));
    });
    place.replaceChildren(told.budgets.length ? rows : element("p", "quiet", "No budget is set."));
  });
}
