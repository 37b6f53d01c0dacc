/* Questions to the person: options as buttons, a form as its JSON Schema has it, an address as text. */
const HEADS = { question: "A question", form: "A form to fill in", visit: "A page to visit", approval: "May this be done?",
  changed_tools: "Tools have changed", part: "A part of the request asks" };

function questionForm(run, question) {
  const form = element("form", "asked");
  const head = element("h3", "", HEADS[question.kind] || "A question", { id: newId() });
  form.setAttribute("aria-labelledby", head.id);
  form.append(head, element("p", "words", question.text));
  if (question.detail) { form.append(scrollable(element("pre", "", question.detail), "What it is about")); }
  if (question.url) { form.append(addressBox(question.url)); }
  const options = Object.entries(question.options || {}), actions = element("div", "actions");
  let given = null;
  if (options.length) {
    /* The first says the least; one of the others may be for always. */
    options.forEach(([value, words], place) => actions.append(button(words || value, () => answer({ text: value }), place ? "" : "main")));
  } else if (question.kind === "form") {
    const fields = fieldsOf(question.form || {});
    fields.forEach((field) => form.append(field.box));
    given = () => ({ content: Object.fromEntries(fields.map((field) => [field.name, field.read()]).filter(([, value]) => value !== undefined)) });
    actions.append(submit(fields.length ? "Send" : "Accept"));
  } else {
    const input = element("textarea", "", undefined, { rows: 2, "aria-labelledby": head.id });
    input.required = true;
    if (question.default) { input.placeholder = shown("Without an answer: " + question.default); }
    input.addEventListener("keydown", (event) => { if (isSending(event)) { event.preventDefault(); form.requestSubmit(); } });
    given = () => ({ text: input.value });
    form.append(input);
    actions.append(submit("Answer"));
  }
  if (!options.length) { actions.append(button("Don't answer", () => answer({ declined: true }))); }
  const trouble = element("p", "trouble", "", { role: "alert" });
  form.append(trouble, actions);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (given) { answer(given()); }
  });
  async function answer(said) {
    const all = [...form.querySelectorAll("button, input, select, textarea")];
    all.forEach((each) => { each.disabled = true; });
    trouble.textContent = "";
    try { await send("POST", "runs/" + run.id + "/answer", { json: { question_id: question.id, ...said } }); } catch (problem) {
      all.forEach((each) => { each.disabled = false; });
      trouble.textContent = shown(problem.message);
    }
  }
  return form;
}
/* The page that a server sends the person to: as text, its host apart. Nothing opens it but a click. */
function addressBox(address) {
  const box = element("div", "address"), url = webAddress(address);
  box.append(element("p", "", url && url.host ? "It is at the host " : "It is no address of the web:"));
  if (url && url.host) { box.firstChild.append(element("strong", "", url.host)); }
  box.append(element("code", "", address), copyButton(() => address));
  if (url && url.host) { box.append(" ", linkTo(address, "Open it in a new tab")); }
  return box;
}
