/* Buttons, boxes, and what the page says to a screen reader. */
function button(words, act, classes) {
  const made = element("button", classes || "", words);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}
function copyButton(textOf) {
  const made = button("Copy", async function () {
    const isCopied = await copyText(textOf());
    made.textContent = isCopied ? "Copied" : "Could not copy";
    setTimeout(function () { made.textContent = "Copy"; }, 2000);
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

function submit(words) {
  const made = element("button", "main", words);
  made.type = "submit";
  return made;
}
function checkIn(box, words, isChecked) {
  const label = element("label", "check"), input = element("input");
  input.type = "checkbox";
  input.checked = isChecked;
  label.append(input, element("span", "", words));
  box.append(label);
  return input;
}
/* Said politely by a screen reader; an answer once, not with every piece of it. */
function say(words) {
  const place = document.getElementById("said");
  place.textContent = "";
  setTimeout(function () { place.textContent = cut(shown(words), 2000); }, 50);
}
/* A question of the page itself before it does what can't be undone. */
function confirmed(words, yes) {
  const dialog = element("dialog"), form = element("form");
  form.method = "dialog";
  const actions = element("div", "actions");
  const cancel = submit("Cancel"), go = submit(yes);
  cancel.className = "";
  cancel.value = "";
  go.value = "yes";
  actions.append(cancel, go);
  const text = element("p", "", words);
  text.id = newId();
  dialog.setAttribute("aria-labelledby", text.id);
  form.append(text, actions);
  dialog.append(form);
  document.body.append(dialog);
  return new Promise(function (done) {
    form.addEventListener("submit", function (event) {
      event.preventDefault();
      dialog.close(event.submitter.value);
    });
    dialog.addEventListener("close", function () {
      dialog.remove();
      done(dialog.returnValue === "yes");
    });
    dialog.showModal();
  });
}
