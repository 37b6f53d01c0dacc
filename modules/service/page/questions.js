/* Questions to the person: options as buttons, a form as its JSON Schema has it, an address as text. */
const HEADS = { question: "A question", form: "A form to fill in", visit: "A page to visit", approval: "May this be done?",
  changed_tools: "Tools have changed", part: "A part of the request asks" };

function questionForm(run, question) {
  const form = element("form", "asked");
  const head = element("h3", "", HEADS[question.kind] || "A question");
  head.id = "question-" + question.id;
  form.setAttribute("aria-labelledby", head.id);
  form.noValidate = true;
  const trouble = element("p", "trouble");
  trouble.setAttribute("role", "alert");
  const text = element("p", "words", question.text);
  form.append(head, text);
  if (question.detail) {
    const detail = element("pre", "", question.detail);
    detail.tabIndex = 0;
    detail.setAttribute("role", "group");
    detail.setAttribute("aria-label", "What it is about");
    form.append(detail);
  }
  if (question.url) { form.append(addressBox(question.url)); }
  const options = Object.entries(question.options || {});
  const actions = element("div", "actions");
  let fields = [];
  if (options.length) {
    options.forEach(function (pair) {
      actions.append(button(pair[1] || pair[0], function () { answer({ text: pair[0] }); }, pair[0] === "no" ? "" : "main"));
    });
  } else if (question.kind === "form") {
    fields = fieldsOf(question.form || {});
    fields.forEach(function (field) { form.append(field.box); });
    actions.append(submit(fields.length ? "Send" : "Accept"));
  } else {
    const input = element("textarea");
    input.rows = 2;
    input.setAttribute("aria-labelledby", head.id);
    if (question.default) { input.placeholder = shown("Without an answer: " + question.default); }
    input.addEventListener("keydown", function (event) {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); form.requestSubmit(); }
    });
    fields = [{ name: null, read: function () { return input.value.trim() ? input.value : undefined; }, isNeeded: true, box: input, title: "An answer", input: input, check: function () { return ""; } }];
    form.append(input);
    actions.append(submit("Answer"));
  }
  if (!options.length) { actions.append(button("Don't answer", function () { answer({ declined: true }); })); }
  form.append(trouble, actions);
  form.addEventListener("submit", function (event) {
    event.preventDefault();
    const content = {};
    for (const field of fields) {
      const value = field.read();
      const wrong = value === undefined ? (field.isNeeded ? field.title + " is needed." : "") : field.check(value);
      field.input.setAttribute("aria-invalid", String(Boolean(wrong)));
      if (wrong) { trouble.textContent = shown(wrong); field.input.focus(); return; }
      if (value !== undefined) { content[field.name] = value; }
    }
    answer(question.kind === "form" ? { content: content } : { text: fields[0].read() });
  });
  async function answer(given) {
    const all = [...form.querySelectorAll("button, input, select, textarea")];
    all.forEach(function (each) { each.disabled = true; });
    trouble.textContent = "";
    try {
      await send("POST", "runs/" + pathOf(run.id) + "/answer", { json: Object.assign({ question_id: question.id }, given) });
    } catch (problem) {
      all.forEach(function (each) { each.disabled = false; });
      trouble.textContent = shown(problem.message);
    }
  }
  return form;
}
/* The page that a server sends the person to: as text, its host apart. Nothing opens it but a click. */
function addressBox(address) {
  const box = element("div", "address");
  const url = webAddress(address);
  box.append(element("p", "", url && url.host ? "It is at the host " : "It is no address of the web:"));
  if (url && url.host) { box.firstChild.append(element("strong", "", url.host)); }
  box.append(element("code", "", address), copyButton(function () { return address; }));
  const link = url && url.host ? linkTo(address) : null;
  if (link) { link.textContent = "Open it in a new tab"; box.append(" ", link); }
  return box;
}
