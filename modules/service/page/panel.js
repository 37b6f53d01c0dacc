/* What stands beside the chat: documents and their upload, servers with their tools, what is spent. */
const UPLOADS_MAX = 200;  /* files of one drop */
const uploads = { waiting: [], isGoing: false };

/* What stands there is that of the profile of the conversation. */
function ofProfile(sign) {
  const profile = chat.profile || profiles.value;
  return profile ? sign + "profile=" + encodeURIComponent(profile) : "";
}
function fillPanel() { return Promise.all([showDocuments(), showServers(), showBudgets()]); }
/* Puts one item for each of those that the service tells, or why there is none. Of two requests the
   later one counts, whichever is answered first. */
async function filled(id, path, key, itemOf, none) {
  const place = byId(id), turn = place.turn = {};
  let items;
  try {
    const told = await getJson(path);
    items = told[key].map(itemOf);
    if (!items.length || told.is_cut) { items.push(element("li", "quiet", items.length ? "There are more." : none)); }
  } catch (problem) { items = [element("li", "trouble", problem.message)]; }
  if (place.turn === turn) { place.replaceChildren(...items); }
}

const DOCUMENT_STATES = { indexed: "", waiting: "is yet to be read", unreadable: "can't be read" };
function showDocuments() { return filled("documents", "documents" + ofProfile("?"), "documents", documentItem, "No documents yet."); }
function documentItem({ name, size_bytes: size, state, why }) {
  const item = element("li"), words = [DOCUMENT_STATES[state], why].filter(Boolean).join(": ");
  item.append(element("bdi", "", name), element("span", "quiet size", sizeText(size)));
  if (words) { item.append(element("p", state === "unreadable" ? "trouble" : "quiet " + state, words)); }
  return item;
}
function sizeText(bytes) {
  const unit = Math.min(Math.floor(Math.log10(bytes || 1) / 3), 3), size = bytes / 1000 ** unit;
  return size.toLocaleString("en", { maximumFractionDigits: unit && size < 10 ? 1 : 0 }) + " " + ["B", "kB", "MB", "GB"][unit];
}
/* Files go up one after another; each tells its progress, or why it was not taken. */
function addFiles(files) {
  if (!files.length) { return; }
  openDrawer("panel");
  uploads.waiting.push(...[...files].slice(0, UPLOADS_MAX).map((file) => uploadOf(file, false)));
  if (files.length > UPLOADS_MAX) { showProblem("Only the first " + UPLOADS_MAX + " files are added: drop fewer at a time."); }
  uploadNext();
}
function uploadOf(file, isReplacing) {
  const item = element("li", "upload"), state = element("span", "quiet", "waiting");
  const bar = element("progress", "", undefined, { max: 1, value: 0, "aria-label": "Upload of " + file.name });
  item.append(element("bdi", "", file.name), state, bar);
  byId("uploads").append(item);
  return { file, item, bar, state, isReplacing };
}
async function uploadNext() {
  if (uploads.isGoing) { return; }
  uploads.isGoing = true;
  while (uploads.waiting.length) { await upload(uploads.waiting.shift()); }
  uploads.isGoing = false;
  await showDocuments();
}
async function upload({ file, item, bar, state, isReplacing }) {
  const ending = new AbortController(), dismiss = () => item.remove();
  const actions = element("span", "actions");
  actions.append(button("Cancel", () => ending.abort(), "small"));
  item.append(actions);
  state.textContent = sizeText(file.size);
  const path = "documents/" + encodeURIComponent(file.name) + "?replace=" + isReplacing + ofProfile("&");
  try {
    await sendFile(path, file, (part) => {
      bar.value = part;
      if (part === 1) { state.textContent = "being kept"; }
    }, ending.signal);
    state.textContent = "added";
    actions.remove();
    say(file.name + " was added to the documents.");
    setTimeout(dismiss, 5000);
  } catch (problem) {
    state.className = "trouble";
    state.textContent = shown(problem.message);
    say(file.name + " was not added: " + problem.message);
    actions.replaceChildren(button("Dismiss", dismiss, "small"));
    if (problem.status === 409) {
      actions.prepend(button("Replace it", () => {
        dismiss();
        uploads.waiting.push(uploadOf(file, true));
        uploadNext();
      }, "small"));
    }
  }
  bar.remove();
}

function showServers() {
  const open = [...document.querySelectorAll("#servers details[open]")].map((each) => each.dataset.id);
  return filled("servers", "servers" + ofProfile("?"), "servers", (server) => serverItem(server, open.includes(server.id)), "No servers are configured.");
}
function serverItem(server, isOpen) {
  const item = element("li"), box = element("details"), head = element("summary"), tools = element("ul");
  box.dataset.id = server.id;
  head.append(element("bdi", "", server.id), element("span", "state", server.state, { "data-state": server.state }));
  box.append(head);
  if (server.problem) { box.append(element("p", "trouble", server.problem)); }
  box.append(tools);
  box.addEventListener("toggle", () => { if (box.open && !tools.childNodes.length) { fillTools(tools, server.id); } });
  box.open = isOpen;
  item.append(box);
  return item;
}
async function fillTools(place, server) {
  try {
    const told = await getJson("tools" + ofProfile("?"));
    place.replaceChildren(...told.tools.filter((tool) => tool.server === server).map((tool) => {
      const item = element("li");
      item.append(element("b", "", tool.name), " ", element("span", "quiet", oneLine(tool.description, 300)));
      return item;
    }));
    if (!place.childNodes.length) { place.append(element("li", "quiet", "Its tools are not known until it has started.")); }
  } catch (problem) { place.replaceChildren(element("li", "trouble", problem.message)); }
}

function showBudgets() {
  const id = chat.id ? "conversation_id=" + encodeURIComponent(chat.id) : "";
  return filled("budgets", "budgets?" + id + ofProfile("&"), "budgets", ({ scope, measure, spent, most }) => {
    const text = (number) => measure === "cost" ? costText(number) : number.toLocaleString("en", { maximumFractionDigits: 1 });
    const item = element("li");
    item.append(element("span", "", measure + ", " + scope), element("span", "size", text(spent) + " of " + text(most)));
    return item;
  }, "No budget is set.");
}
