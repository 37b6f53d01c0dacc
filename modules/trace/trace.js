const KINDS = [["subtask", "subtasks"], ["decision", "decisions"], ["perception", "perception"],
  ["plan", "plans"], ["model", "models"], ["retry", "retries"], ["call", "tools"], ["question", "questions"]];
const SAID = { failed: "failed", kept: "kept from before", refused: "refused", open: "did not end",
  skipped: "did not begin" };
const BESIDE = { call: "other tool call", subtask: "other subtask" };  /* what may run at the same time */
const NAME_CHARACTERS = 300;

const entries = [];
/* How many of sorted numbers are below a limit, or at it. */
function below(numbers, limit, isIncluded) {
  let low = 0, high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < limit || (isIncluded && numbers[middle] === limit)) { low = middle + 1; } else { high = middle; }
  }
  return low;
}
function times(spans) {
  function sorted(of) { return spans.map(of).sort(function (one, other) { return one - other; }); }
  return {
    begun: sorted(function (span) { return span.started_at; }),
    ended: sorted(function (span) { return span.started_at + span.seconds; }),
  };
}
/* How many others of its kind ran while a span did. */
function besides(among, span) {
  return below(among.begun, span.started_at + span.seconds, false) - below(among.ended, span.started_at, true) - 1;
}
function flatten(span, run, depth, beside) {
  entries.push({ span: span, run: run, depth: depth, beside: beside });
  const kinds = {};
  Object.keys(BESIDE).forEach(function (kind) {
    const those = span.children.filter(function (child) { return child.kind === kind && child.seconds > 0; });
    kinds[kind] = times(those);
  });
  span.children.forEach(function (child) {
    const others = kinds[child.kind] && child.seconds > 0 ? besides(kinds[child.kind], child) : 0;
    flatten(child, run, depth + 1, others);
  });
}
data.runs.forEach(function (run) { flatten(run, run, 0, 0); });

function makeRow(entry, place) {
  const span = entry.span;
  const item = element("div", ["item", span.kind, span.state, "depth-" + Math.min(entry.depth, 4)].join(" "));
  item.setAttribute("role", "listitem");
  const row = element("button", "row");
  row.type = "button";
  row.setAttribute("aria-expanded", "false");
  const name = element("span", "name");
  if (span.kind !== "run") {
    const sign = element("span", "sign");
    sign.setAttribute("aria-hidden", "true");
    name.append(sign, element("span", "unseen", span.kind === "call" ? "tool " : span.kind + " "));
  }
  const bold = element("b");
  bold.append(element("bdi", "", cut(span.name, NAME_CHARACTERS) || "(no name)"));
  name.append(bold);
  const notes = [[SAID[span.state], span.note].filter(Boolean).join(": ")];
  if ((span.kind === "run" || span.kind === "subtask") && span.tokens) {
    notes.unshift(count(span.tokens, "token") + (span.cost ? ", " + costText(span.cost) : ""));
  }
  const note = notes.filter(Boolean).join(" · ");
  if (note) { name.append(" ", element("bdi", "quiet", note)); }
  if (entry.beside) {
    item.classList.add("together");
    name.append(element("span", "unseen", ", at the same time as " + count(entry.beside, BESIDE[span.kind])));
  }
  const lane = element("span", "lane");
  lane.setAttribute("aria-hidden", "true");
  const bar = element("span", "bar");
  const whole = Math.max(entry.run.seconds, 1e-6);
  const left = Math.min(Math.max((span.started_at - entry.run.started_at) / whole, 0), 1);
  bar.style.left = "min(" + left * 100 + "%, 100% - 3px)";
  bar.style.width = Math.min(span.seconds / whole, 1 - left) * 100 + "%";
  lane.append(bar);
  row.append(name, element("span", "time", timeText(span.seconds)), lane);
  row.addEventListener("click", function () { toggle(row, item, entry); });
  item.append(row);
  entry.item = item;
  entry.row = row;
  return item;
}
function toggle(row, item, entry) {
  const isOpen = row.getAttribute("aria-expanded") === "true";
  row.setAttribute("aria-expanded", String(!isOpen));
  if (isOpen) { item.lastElementChild.remove(); return; }
  const span = entry.span;
  const box = element("div", "details");
  const facts = [timeText(span.seconds) + ", " + timeText(Math.max(span.started_at - entry.run.started_at, 0)) + " into the run"];
  if (span.started_at) { facts.unshift(new Date(span.started_at * 1000).toLocaleString()); }
  if (span.tokens) { facts.push(count(span.tokens, "token")); }
  if (span.cost) { facts.push(costText(span.cost)); }
  if (entry.beside) { facts.push("at the same time as " + count(entry.beside, BESIDE[span.kind])); }
  box.append(element("p", "quiet", facts.join(" · ")));
  span.details.forEach(function (detail) {
    const text = element("pre", "", detail[1]);
    text.tabIndex = 0;
    text.setAttribute("role", "region");
    text.setAttribute("aria-label", detail[0]);
    box.append(element("h2", "", detail[0]), text);
  });
  if (!span.details.length) { box.append(element("p", "quiet", "Nothing more was kept.")); }
  item.append(box);
}

function checkbox(box, text, classes) {
  const label = element("label", classes);
  label.append(box);
  if (classes) { label.append(element("span", "sign")); }
  label.append(text);
  box.type = "checkbox";
  return label;
}
const search = element("input");
search.type = "search";
search.placeholder = "Search  ( / )";
search.setAttribute("aria-label", "Search names, arguments, results, plans and prompts");
const filters = element("fieldset");
filters.append(element("legend", "unseen", "What is shown"));
const boxes = KINDS.filter(function (kind) {
  return entries.some(function (entry) { return entry.span.kind === kind[0]; });
}).map(function (kind) {
  const box = element("input");
  box.value = kind[0];
  filters.append(checkbox(box, kind[1], kind[0]));
  box.checked = true;
  return box;
});
const bad = element("input");
filters.append(checkbox(bad, "only failures", ""));
header.append(search, filters);
const sum = element("p", "quiet");
sum.setAttribute("role", "status");
const none = element("p", "quiet", "Nothing fits.");
const rows = element("div", "rows");  /* no <ul>: Chromium takes seconds to hide 2,000 <li> */
rows.setAttribute("role", "list");
rows.setAttribute("aria-label", "Timeline");
rows.append.apply(rows, entries.map(makeRow));
main.append(sum, none, rows);

function wordsOf(entry) {  /* made at the first search: values may be large */
  if (entry.words === undefined) {
    const span = entry.span;
    const texts = span.details.map(function (detail) { return detail[1]; });
    entry.words = [span.name, span.note].concat(texts).join("\n").toLowerCase();
  }
  return entry.words;
}
function show() {
  const wanted = search.value.toLowerCase();
  const left = new Set(boxes.filter(function (box) { return !box.checked; }).map(function (box) { return box.value; }));
  let fitting = 0;
  entries.forEach(function (entry) {
    const state = entry.span.state;
    const fits = !left.has(entry.span.kind) && (!bad.checked || state === "failed" || state === "refused") &&
      (!wanted || wordsOf(entry).includes(wanted));
    entry.item.hidden = !fits;
    fitting += fits;
  });
  none.hidden = fitting > 0;
  function total(name) { return data.runs.reduce(function (all, run) { return all + run[name]; }, 0); }
  const facts = [count(data.runs.length, "run"), timeText(total("seconds"))];
  if (total("tokens")) { facts.push(count(total("tokens"), "token")); }
  if (total("cost")) { facts.push(costText(total("cost"))); }
  if (fitting !== entries.length) { facts.push(fitting + " of " + entries.length + " shown"); }
  sum.textContent = facts.join(" · ");
}
search.addEventListener("input", show);
boxes.concat(bad).forEach(function (box) { box.addEventListener("change", show); });

function go(step) {
  const there = entries.filter(function (entry) { return !entry.item.hidden; }).map(function (entry) { return entry.row; });
  const inside = document.activeElement.closest ? document.activeElement.closest(".item") : null;
  const at = there.indexOf(inside ? inside.firstElementChild : null);
  const next = there[Math.min(Math.max(at + step, 0), there.length - 1)];
  if (next) { next.focus(); next.scrollIntoView({ block: "nearest" }); }
}
document.addEventListener("keydown", function (event) {
  const active = document.activeElement;
  if (event.ctrlKey || event.metaKey || event.altKey) { return; }
  if (event.key === "/" && active !== search) { event.preventDefault(); search.focus(); search.select(); return; }
  if (event.key === "Escape") { search.value = ""; show(); return; }
  if (active.tagName === "PRE" || active.type === "checkbox") { return; }  /* the keys scroll there */
  const isRow = active.classList.contains("row");
  if (event.key === "ArrowDown" || (event.key === "ArrowUp" && isRow)) {
    event.preventDefault();
    go(event.key === "ArrowDown" ? 1 : -1);
  } else if (isRow && (event.key === "Home" || event.key === "End")) {
    event.preventDefault();
    go(event.key === "Home" ? -entries.length : entries.length);
  } else if (isRow && (event.key === "ArrowRight" || event.key === "ArrowLeft")) {
    if ((active.getAttribute("aria-expanded") === "true") === (event.key === "ArrowLeft")) { active.click(); }
  }
});
show();
