const DAY = 86400000;

function figures(pairs) {
  const list = element("dl", "figures");
  pairs.forEach(function (pair) {
    const box = element("div");
    box.append(element("dt", "", pair[0]), element("dd", "", pair[1]));
    list.append(box);
  });
  return list;
}
const total = data.total;
const answered = total.requests ? Math.round(total.answered / total.requests * 100) + " %" : "–";
main.append(figures([
  ["requests", total.requests.toLocaleString("en")],
  ["answered", answered],
  ["time", timeText(total.seconds)],
  ["tokens", total.tokens.toLocaleString("en")],
  ["cost", costText(total.cost)],
]));
if (!data.days.length) { main.append(element("p", "quiet", "Nothing was asked since " + data.since + ".")); }

/* Every day from the first with a request to the last, those without one too. */
const byDay = new Map(data.days.map(function (day) { return [day.day, day]; }));
const days = [];
if (data.days.length) {
  const last = Date.parse(data.days[data.days.length - 1].day);
  for (let at = Date.parse(data.days[0].day); at <= last; at += DAY) {
    const name = new Date(at).toISOString().slice(0, 10);
    days.push(byDay.get(name) || { day: name, requests: 0, answered: 0, seconds: 0, tokens: 0, cost: 0 });
  }
}
const charts = element("div", "charts");
function chart(title, note, text, parts) {
  const sums = days.map(function (day) { return parts(day).reduce(function (all, part) { return all + part; }, 0); });
  const most = Math.max.apply(null, sums);
  if (!(most > 0)) { return; }
  const section = element("section");
  const head = element("h2", "", title);
  head.append(element("span", "quiet", note + "at most " + text(most) + " a day"));
  const drawn = element("div", "chart");
  drawn.setAttribute("role", "img");
  drawn.setAttribute("aria-label", title + " a day, at most " + text(most) + "; the table of days has the figures");
  days.forEach(function (day, place) {
    const column = element("div");
    column.title = day.day + ": " + text(sums[place]);
    parts(day).forEach(function (part) {
      const bar = element("i");
      bar.style.height = part / most * 100 + "%";
      column.append(bar);
    });
    drawn.append(column);
  });
  const ends = element("div", "ends quiet");
  ends.setAttribute("aria-hidden", "true");
  ends.append(element("span", "", days[0].day), element("span", "", days.length > 1 ? days[days.length - 1].day : ""));
  section.append(head, drawn, ends);
  charts.append(section);
}
chart("Requests", "striped: not answered; ", function (number) { return number.toLocaleString("en"); },
  function (day) { return [day.answered, day.requests - day.answered]; });
chart("Time", "", timeText, function (day) { return [day.seconds]; });
chart("Tokens", "", function (number) { return number.toLocaleString("en"); }, function (day) { return [day.tokens]; });
chart("Cost", "", costText, function (day) { return [day.cost]; });
main.append(charts);

/* Heads are pairs of a text and a class; a cell is a text or an element. */
function table(title, heads, rows) {
  if (!rows.length) { return; }
  const box = element("div", "scroll");
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", title);
  const made = element("table");
  const head = made.createTHead().insertRow();
  heads.forEach(function (each) {
    const cell = element("th", each[1], each[0]);
    cell.scope = "col";
    head.append(cell);
  });
  const body = made.createTBody();
  rows.forEach(function (cells) {
    const row = body.insertRow();
    cells.forEach(function (cell, place) {
      const made = element(place ? "td" : "th", heads[place][1]);
      if (!place) { made.scope = "row"; }
      const text = element("bdi", "", cell.text === undefined ? cell : cell.text);
      made.append(text);
      if (cell.share !== undefined) {
        const bar = element("span", "share");
        bar.style.width = cell.share * 4 + "rem";
        const room = element("span", "room");
        room.setAttribute("aria-hidden", "true");
        room.append(bar);
        made.append(room);
      }
      row.append(made);
    });
  });
  box.append(made);
  main.append(element("h2", "", title), box);
}
function milliseconds(seconds) {
  if (seconds === null) { return "unknown"; }
  return (seconds * 1000).toLocaleString("en", { maximumFractionDigits: seconds < 0.01 ? 1 : 0 }) + " ms";
}
const mostCalls = Math.max.apply(null, data.tools.map(function (tool) { return tool.calls; }).concat(1));
table("Tools", [["tool", ""], ["calls", ""], ["failed", ""], ["median", ""], ["95 %", ""], ["last used", ""], ["last failure", "words"]],
  data.tools.map(function (tool) {
    return [cut(tool.tool, 200), { text: tool.calls.toLocaleString("en"), share: tool.calls / mostCalls },
      tool.failed.toLocaleString("en"), milliseconds(tool.median_seconds), milliseconds(tool.p95_seconds),
      tool.last_used, cut(tool.last_failure, 300)];
  }));
if (data.roles.length) {
  table("Roles", [["role", ""], ["tries", ""], ["results", ""], ["time", ""], ["tokens", ""], ["cost", ""]],
    data.roles.map(function (role) {
      return [cut(role.role, 200), role.tries.toLocaleString("en"), role.answered.toLocaleString("en"), timeText(role.seconds),
        role.tokens.toLocaleString("en"), costText(role.cost)];
    }));
}
table("Models", [["model", ""], ["calls", ""], ["tokens read", ""], ["written", ""], ["cost", ""]],
  Object.entries(data.models).map(function (pair) {
    const used = pair[1];
    return [cut(pair[0], 200), used.model_calls.toLocaleString("en"), used.input_tokens.toLocaleString("en"),
      used.output_tokens.toLocaleString("en"), costText(used.cost) + (used.unpriced_calls ? " and calls without a price" : "")];
  }));
table("Days", [["day", ""], ["requests", ""], ["answered", ""], ["time", ""], ["tokens", ""], ["cost", ""]],
  data.days.slice().reverse().map(function (day) {
    return [day.day, day.requests.toLocaleString("en"), day.answered.toLocaleString("en"), timeText(day.seconds),
      day.tokens.toLocaleString("en"), costText(day.cost)];
  }));
const left = Object.keys(data.left_out).length;
main.append(element("p", "quiet", [
  "Read " + count(data.sessions, "session") + " in " + timeText(data.read_seconds),
  data.older ? count(data.older, "older session") + " not needed" : "",
  data.beyond ? count(data.beyond, "session") + " more not read" : "",
  left ? count(left, "session") + " could not be read" : "",
].filter(Boolean).join("; ") + "."));
