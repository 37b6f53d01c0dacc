/* Buttons, boxes, and what the page says to a screen reader. */
function byId(id) { return document.getElementById(id); }
function button(words, act, classes) {
  const made = element("button", classes, words, { type: "button" });
  made.addEventListener("click", act);
  return made;
}
function submit(words) { return element("button", "main", words, { type: "submit" }); }
function copyButton(textOf, words = "Copy") {
  const made = button(words, async () => {
    made.textContent = await copyText(textOf()) ? "Copied" : "Could not copy";
    setTimeout(() => { made.textContent = words; }, 2000);
  }, "small");
  return made;
}
async function copyText(text) {
  if (navigator.clipboard) {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* the older way may do */ }
  }
  const area = element("textarea", "unseen");
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  return isCopied;
}
function checkIn(box, words, isChecked) {
  const label = element("label", "check"), input = element("input", "", undefined, { type: "checkbox" });
  input.checked = isChecked;
  label.append(input, element("span", "", words));
  box.append(label);
  return input;
}
/* Said politely by a screen reader; an answer once, not with every piece of it. */
function say(words) {
  byId("said").textContent = "";
  setTimeout(() => { byId("said").textContent = cut(shown(words), 2000); }, 50);
}
const ids = { last: 0 };
function newId() { ids.last += 1; return "id-" + ids.last; }

/* Asks in a dialog. Gives what was written in its field, "" where it has none, null for no. */
function askUser(head, words, yes, field) {
  const dialog = element("dialog"), form = element("form"), actions = element("div", "actions");
  const title = element("h2", "", head, { id: newId() });
  dialog.setAttribute("aria-labelledby", title.id);
  form.append(title, ...(words ? [element("p", "quiet", words)] : []));
  if (field) {
    const label = element("label", "", field.label);
    label.append(field.input);
    form.append(label);
  }
  actions.append(button("Cancel", () => dialog.close()), submit(yes));
  form.append(actions);
  dialog.append(form);
  document.body.append(dialog);
  let given = null;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    given = field ? field.input.value.trim() : "";
    dialog.close();
  });
  dialog.showModal();
  return new Promise((done) => dialog.addEventListener("close", () => { dialog.remove(); done(given); }));
}
function lineInput(type, value) {
  const input = element("input", "", undefined, { type, required: "", autocomplete: "off" });
  input.value = value;
  return input;
}
