const KINDS = [["subtask", "subtasks"], ["decision", "decisions"], ["perception", "perception"],
  ["plan", "plans"], ["model", "models"], ["retry", "retries"], ["call", "tools"], ["question", "questions"]];

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

function makeRow(entry) {
  const span = entry.span;
  const classes = "depth-" + Math.min(entry.depth, 4) + (entry.beside ? " together" : "");
  const view = spanView(span, entry.run, classes, entry.beside);
  const lane = element("span", "lane");
  lane.setAttribute("aria-hidden", "true");
  const bar = element("span", "bar");
  const whole = Math.max(entry.run.seconds, 1e-6);
  const left = Math.min(Math.max((span.started_at - entry.run.started_at) / whole, 0), 1);
  bar.style.left = "min(" + left * 100 + "%, 100% - 3px)";
  bar.style.width = Math.min(span.seconds / whole, 1 - left) * 100 + "%";
  lane.append(bar);
  view.row.append(lane);
  entry.item = view.item;
  entry.row = view.row;
  return view.item;
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

function rowsShown() {
  return entries.filter(function (entry) { return !entry.item.hidden; }).map(function (entry) { return entry.row; });
}
document.addEventListener("keydown", function (event) {
  const active = document.activeElement;
  if (event.ctrlKey || event.metaKey || event.altKey) { return; }
  if (event.key === "/" && active !== search) { event.preventDefault(); search.focus(); search.select(); return; }
  if (event.key === "Escape") { search.value = ""; show(); return; }
  if (active.tagName === "PRE" || active.type === "checkbox") { return; }  /* the keys scroll there */
  if (isRowKey(event, rowsShown())) { return; }
  if (event.key === "ArrowDown") { event.preventDefault(); moveFocus(rowsShown(), 1); }
});
show();
