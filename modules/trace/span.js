/* How a span is shown, wherever it is: a row that opens, and its texts below it. */
const SAID = { failed: "failed", kept: "kept from before", refused: "refused", open: "did not end",
  skipped: "did not begin", waiting: "waits", running: "" };
const BESIDE = { call: "other tool call", subtask: "other subtask" };  /* what may run at the same time */
const NAME_CHARACTERS = 300;

/* What stands behind a span's name: what it used, its state, what came of it. */
function noteOf(span) {
  const used = [];
  if ((span.kind === "run" || span.kind === "subtask") && span.tokens) {
    used.push(count(span.tokens, "token") + (span.cost ? ", " + costText(span.cost) : ""));
  }
  used.push([SAID[span.state], span.note].filter(Boolean).join(": "));
  return used.filter(Boolean).join(" · ");
}
function factsOf(span, run, beside) {
  const facts = [timeText(span.seconds) + ", " + timeText(Math.max(span.started_at - run.started_at, 0)) + " into the run"];
  if (span.started_at) { facts.unshift(new Date(span.started_at * 1000).toLocaleString()); }
  if (span.tokens) { facts.push(count(span.tokens, "token")); }
  if (span.cost) { facts.push(costText(span.cost)); }
  if (beside) { facts.push("at the same time as " + count(beside, BESIDE[span.kind])); }
  return facts.join(" · ");
}

/* How long it took, or takes as yet; what was only a moment took no time. */
function spanTime(span) {
  if (span.seconds !== null) { return span.seconds || span.kind !== "decision" ? timeText(span.seconds) : ""; }
  const seconds = span.state === "running" ? Math.floor(Date.now() / 1000 - span.started_at) : 0;
  return seconds > 0 ? seconds + " s" : "";
}

/* The view of a span of a run. `update` shows what has changed of it since; details are only ever
   added. `classes` go to its item, `beside` counts what ran at the same time. */
function spanView(span, run, classes, beside) {
  const item = element("div", "", undefined, { role: "listitem" });
  const row = element("button", "row", undefined, { type: "button" });
  const name = element("span", "name");
  if (span.kind !== "run") {
    name.append(element("span", "sign", "", { "aria-hidden": "true" }), element("span", "unseen", span.kind === "call" ? "tool " : span.kind + " "));
  }
  const bold = element("bdi"), strong = element("b");
  strong.append(bold);
  const note = element("bdi", "quiet");
  name.append(strong, " ", note);
  if (beside) { name.append(element("span", "unseen", ", at the same time as " + count(beside, BESIDE[span.kind]))); }
  const time = element("span", "time");
  row.append(name, time);
  item.append(row);
  const view = { span: span, item: item, row: row, isOpen: false, update: update, toggle: toggle };
  let box = null, facts = null, drawn = 0;

  function update() {
    item.className = ["item", span.kind, span.state, classes].filter(Boolean).join(" ");
    row.setAttribute("aria-expanded", String(view.isOpen));
    bold.textContent = shown(cut(span.name, NAME_CHARACTERS) || "(no name)");
    note.textContent = shown(noteOf(span));
    time.textContent = spanTime(span);
    if (view.isOpen) { drawDetails(); }
  }
  function drawDetails() {
    if (!box) {
      box = element("div", "details");
      facts = element("p", "quiet");
      box.append(facts);
      row.after(box);
      drawn = 0;
    }
    facts.textContent = span.seconds === null ? "" : factsOf(span, run, beside);
    for (; drawn < span.details.length; drawn += 1) {
      const detail = span.details[drawn];
      box.append(element("h2", "", detail[0]), scrollable(element("pre", "", detail[1]), detail[0]));
    }
    if (!drawn && span.seconds !== null) { facts.textContent += " · Nothing more was kept."; }
  }
  function toggle(isOpen) {
    view.isOpen = isOpen === undefined ? !view.isOpen : isOpen;
    if (!view.isOpen && box) { box.remove(); box = null; }
    update();
  }
  row.addEventListener("click", function () { toggle(); });
  update();
  return view;
}

/* Moves the focus by so many steps among things in their order. */
function moveFocus(things, step) {
  const inside = document.activeElement.closest ? document.activeElement.closest(".item") : null;
  const at = things.indexOf(inside ? inside.querySelector(".row") : document.activeElement);
  const next = things[Math.min(Math.max(at + step, 0), things.length - 1)];
  if (next) { next.focus(); next.scrollIntoView({ block: "nearest" }); }
}
/* Arrow keys, Home and End on a row: whether the key was for it. */
function isRowKey(event, things) {
  const active = document.activeElement;
  if (!active.classList.contains("row") || event.ctrlKey || event.metaKey || event.altKey) { return false; }
  const steps = { ArrowDown: 1, ArrowUp: -1, Home: -things.length, End: things.length };
  if (event.key in steps) {
    event.preventDefault();
    moveFocus(things, steps[event.key]);
  } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
    if ((active.getAttribute("aria-expanded") === "true") === (event.key === "ArrowLeft")) { active.click(); }
  } else { return false; }
  return true;
}
