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
  const leave = question.kind === "approval" ? leaveFields(question) : null;
  if (leave) { form.append(...leave.boxes); }
  const options = Object.entries(question.options || {}), actions = element("div", "actions");
  let given = null;
  if (options.length) {
    /* The first says the least; one of the others may be for always. */
    options.forEach(([value, words], place) => {
      const said = () => answer(leave ? leave.read(value) : { text: value });
      actions.append(button(words || value, said, place ? "" : "main"));
    });
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
/* The calls that need leave as a table, why, and what may go with an answer: words, a rule, some of the calls. */
function leaveFields(question) {
  const table = element("table"), head = element("tr"), several = question.calls.length > 1;
  ["Argument", "Value", "From"].forEach((words) => head.append(element("th", "", words, { scope: "col" })));
  table.append(head);
  const boxes = question.calls.map((call, place) => {
    let box = null;
    if (several) {
      const row = element("tr"), cell = element("th", "", undefined, { colspan: "3", scope: "rowgroup" });
      box = checkIn(cell, "Call " + (place + 1) + " of " + question.calls.length, true);
      row.append(cell);
      table.append(row);
    }
    call.values.forEach((each) => {
      const row = element("tr"), cell = element("td"), value = each.value;
      cell.append(element("pre", "", typeof value === "string" ? value : JSON.stringify(value, null, 1)));
      row.append(element("th", "", each.name, { scope: "row" }), cell, element("td", "quiet", each.from));
      table.append(row);
    });
    if (!call.values.length) {
      const row = element("tr");
      row.append(element("td", "quiet", "no arguments", { colspan: "3" }));
      table.append(row);
    }
    return box;
  });
  const scroll = scrollable(element("div", "scroll"), "The calls");
  scroll.append(table);
  const words = lineInput("text", ""), rule = lineInput("text", question.rules.length === 1 ? question.rules[0] : "");
  words.classList.add("first");
  [words, rule].forEach((input) => input.removeAttribute("required"));
  const rules = element("ul", "rules");
  if (question.rules.length > 1) { question.rules.forEach((each) => rules.append(element("li", "", each))); }
  const made = [scroll, element("p", "", "You are asked because " + question.why.join("; ") + "."),
    labelled("With a no: words that the model reads", words), rules,
    labelled(question.rules.length > 1 ? "The rule that is kept in place of these" : "The rule that is kept", rule)];
  function read(value) {
    const lasts = value === "session" || value === "always", said = { text: value };
    if (value === "no") { return { text: words.value.trim() || "no" }; }
    if (lasts && rule.value.trim() && !question.rules.includes(rule.value.trim())) { said.rule = rule.value.trim(); }
    const only = boxes.flatMap((box, place) => (box && !box.checked ? [] : [place]));
    if (only.length < boxes.length) { said.only = only; }
    return said;
  }
  return { boxes: made, read };
}
function labelled(words, input) {
  const box = element("div", "field");
  input.id = newId();
  box.append(element("label", "", words, { for: input.id }), input);
  return box;
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
