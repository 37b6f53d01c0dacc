/* Markdown as elements. Text of others only ever becomes text: no HTML of it is read, no picture
   of it loaded, and a link leads to the web or to mail alone. */
const DEPTH_MAX = 8;  /* of lists and quotes in one another; what lies deeper is plain text */
const SPAN_MAX = 3000;  /* so far an end of bold text, of a link is looked for */
const ENDS_MAX = 50;  /* so many signs that could end it are looked at */
const RULE_MAX = 2000;  /* characters of the line below a table's head */
const MARKDOWN_MAX = 200000;  /* characters; a longer text is shown as it is */
const FENCE = /^ {0,3}(`{3,}|~{3,}) *([\w+#.-]*)/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +|$)/;
const TABLE_RULE = /^ *\|?( *:?-+:? *\|)+( *:?-+:?)? *$/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const HEADING = /^ {0,3}(#{1,6}) +(.*)$/;

/* Draws a text into a place. Where it goes on with what is drawn there, only what may have changed is
   read and drawn again: the last blocks, as what comes behind them can belong to them. */
function drawMarkdown(place, text) {
  const isPlain = text.length > MARKDOWN_MAX;
  const old = place.blocks || [], kept = !isPlain && text.startsWith(place.text) ? old.slice(0, -2) : [];
  const from = kept.length ? kept[kept.length - 1].end : 0;
  const blocks = kept.concat(isPlain ? [{ kind: "plain", lines: [text], end: 0 }] : blocksOf(text.split(/\r\n|\n|\r/), from));
  setLevels(blocks);
  let same = kept.length;
  while (same < Math.min(old.length, blocks.length) && sourceOf(old[same]) === sourceOf(blocks[same])) { same += 1; }
  const growing = same < old.length && same < blocks.length && old[same].kind === "code" && old[same].lines[0] === blocks[same].lines[0];
  if (growing) { place.childNodes[same].fill(codeOf(blocks[same].lines)); same += 1; }  /* it stays scrolled as it is */
  while (place.childNodes.length > same) { place.lastChild.remove(); }
  place.append(...blocks.slice(same).map((block) => blockElement(block, 0)));
  Object.assign(place, { blocks, text });
}
function sourceOf(block) { return block.kind + (block.level || "") + "\n" + block.lines.join("\n"); }
/* Headings go down by one level at a time, below the page's own. */
function setLevels(blocks) {
  let last = 2;
  blocks.forEach((block) => {
    if (block.kind !== "heading") { return; }
    block.level = Math.min(HEADING.exec(block.lines[0])[1].length + 2, last + 1, 6);
    last = block.level;
  });
}

/* The blocks from a line on; `end` of each is the line behind it. */
function blocksOf(lines, from = 0) {
  const blocks = [];
  let at = from;
  while (at < lines.length) {
    if (!lines[at].trim()) { at += 1; continue; }
    const kind = kindAt(lines, at);
    const end = endOf(kind, lines, at);
    blocks.push({ kind, lines: lines.slice(at, end), end });
    at = end;
  }
  return blocks;
}
function kindAt(lines, at) {
  const line = lines[at];
  if (FENCE.test(line)) { return "code"; }
  if (HEADING.test(line)) { return "heading"; }
  if (RULE.test(line)) { return "rule"; }
  if (/^ {0,3}>/.test(line)) { return "quote"; }
  if (ITEM.test(line)) { return "list"; }
  const below = lines[at + 1] || "";
  if (line.includes("|") && below.length < RULE_MAX && TABLE_RULE.test(below)) { return "table"; }
  return "paragraph";
}
function endOf(kind, lines, at) {
  let end = at + 1;
  if (kind === "code") {
    const mark = FENCE.exec(lines[at])[1];
    const closing = new RegExp("^ {0,3}" + mark[0] + "{" + mark.length + ",} *$");
    while (end < lines.length && !closing.test(lines[end])) { end += 1; }
    return Math.min(end + 1, lines.length);
  }
  if (kind === "heading" || kind === "rule") { return end; }
  if (kind === "list") { return endOfList(lines, at); }
  while (end < lines.length && lines[end].trim()) {
    const next = kindAt(lines, end);
    if (kind === "table" ? !lines[end].includes("|") : kind === "quote" ? next !== "quote" && next !== "paragraph" : next !== "paragraph") { break; }
    end += 1;
  }
  return end;
}
function endOfList(lines, at) {
  const first = ITEM.exec(lines[at]);
  const isNumbered = /\d/.test(first[2]);
  let end = at + 1;
  for (; end < lines.length; end += 1) {
    const line = lines[end], item = ITEM.exec(line);
    if (item && item[1].length <= first[1].length && /\d/.test(item[2]) !== isNumbered) { break; }
    if (item || line.startsWith(" ".repeat(first[1].length + 2)) || !line.trim()) { continue; }
    /* A line that is none of these ends the list behind an empty one, and else goes on with it. */
    if (!lines[end - 1].trim() || kindAt(lines, end) !== "paragraph") { break; }
  }
  while (!lines[end - 1].trim()) { end -= 1; }
  return end;
}

const DRAWN = {
  plain: (lines) => element("pre", "", lines[0]),
  code: (lines) => codeBlock(codeOf(lines), FENCE.exec(lines[0])[2]),
  heading: (lines, depth, level) => {
    const found = HEADING.exec(lines[0]);
    const made = element(level ? "h" + level : "strong");  /* within a list or a quote it heads nothing */
    drawInline(made, found[2].trim().replace(/ #+$/, ""), 0);
    return made;
  },
  rule: () => element("hr"),
  quote: (lines, depth) => {
    const made = element("blockquote");
    drawWithin(made, lines.map((line) => line.replace(/^ {0,3}> ?/, "")), depth);
    return made;
  },
  list: drawList,
  table: drawTable,
  paragraph: (lines) => {
    const made = element("p");
    drawInline(made, lines.map((line) => line.replace(/^ +/, "")).join("\n"), 0);
    return made;
  },
};
function blockElement(block, depth) { return DRAWN[block.kind](block.lines, depth, block.level); }
function drawWithin(place, lines, depth) {
  if (depth >= DEPTH_MAX) { place.append(shown(lines.join("\n"))); return; }
  place.append(...blocksOf(lines).map((block) => blockElement(block, depth + 1)));
}
function drawList(lines, depth) {
  const first = ITEM.exec(lines[0]);
  const made = element(/\d/.test(first[2]) ? "ol" : "ul");
  if (parseInt(first[2], 10) > 1) { made.start = parseInt(first[2], 10); }
  const items = [], inset = new RegExp("^ {0," + first[0].length + "}");
  lines.forEach((line) => {
    const found = ITEM.exec(line);
    if (found && found[1].length <= first[1].length + 1) { items.push([line.slice(found[0].length)]); return; }
    items[items.length - 1].push(line.replace(inset, ""));
  });
  items.forEach((inner) => {
    const item = element("li");
    const task = /^\[([ xX])\] /.exec(inner[0]);
    if (task) { inner[0] = (task[1] === " " ? "☐ " : "☑ ") + inner[0].slice(4); }
    drawWithin(item, inner, depth);
    const only = item.firstElementChild;
    if (only && only.tagName === "P" && inner.every((line) => line.trim())) { only.replaceWith(...only.childNodes); }
    made.append(item);
  });
  return made;
}
function cellsOf(line) {
  return line.trim().replace(/^\|/, "").replace(/\|$/, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
}
function drawTable(lines) {
  const sides = cellsOf(lines[1]).map((rule) => rule.endsWith(":") ? (rule.startsWith(":") ? "middle" : "right") : "");
  const table = element("table"), box = element("div", "scroll");
  function fill(row, cells, tag, attributes) {
    cells.slice(0, sides.length).forEach((cell, place) => {
      const made = element(tag, sides[place], undefined, attributes);
      drawInline(made, cell, 0);
      row.append(made);
    });
  }
  fill(table.createTHead().insertRow(), cellsOf(lines[0]), "th", { scope: "col" });
  const body = table.createTBody();
  lines.slice(2).forEach((line) => fill(body.insertRow(), cellsOf(line), "td"));
  box.append(table);
  return scrollable(box, "Table");
}
function codeOf(lines) {
  const isClosed = lines.length > 1 && lines[lines.length - 1].trim().startsWith(FENCE.exec(lines[0])[1]);
  return lines.slice(1, isClosed ? -1 : undefined).join("\n");
}
function codeBlock(text, language) {
  const box = element("div", "code"), head = element("div", "codehead"), code = element("pre");
  let copied;
  box.fill = (all) => { copied = all; code.textContent = shown(all); };
  box.fill(text);
  head.append(element("span", "quiet", language || "text"), copyButton(() => copied));
  box.append(head, scrollable(code, language ? "Code in " + language : "Code"));
  return box;
}

/* The address as the browser reads it, where it is one that a link may lead to. */
function webAddress(text) {
  let url;
  try { url = new URL(text); } catch { return null; }
  return ["http:", "https:", "mailto:"].includes(url.protocol) ? url : null;
}
function linkTo(address, words) {
  const url = webAddress(address);
  return url && element("a", "", words, { href: url.href, target: "_blank", rel: "noopener noreferrer", title: url.href });
}

const MARKS = [["**", "strong"], ["__", "strong"], ["~~", "s"], ["*", "em"], ["_", "em"]];
const STOPS = /[\\`*_~[<!\n]|https?:\/\//g;

/* Draws what stands in a line: bold, code, links; what is not closed stays as it is written. */
function drawInline(place, text, depth) {
  let at = 0, plainFrom = 0;
  function plain(end) { if (end > plainFrom) { place.append(shown(text.slice(plainFrom, end))); } }
  while (at < text.length) {
    STOPS.lastIndex = at;
    const stop = STOPS.exec(text);
    if (!stop) { break; }
    const found = depth < DEPTH_MAX ? inlineAt(text, stop.index, depth) : null;
    if (!found) { at = stop.index + 1; continue; }
    plain(stop.index);
    place.append(found.node);
    at = found.end;
    plainFrom = at;
  }
  plain(text.length);
}
function inlineAt(text, at, depth) {
  const sign = text[at];
  if (sign === "\n") { return { node: element("br"), end: at + 1 }; }  /* plans put lines together, and mean lines */
  if (sign === "\\") { return /[!-/:-@[-`{-~]/.test(text[at + 1] || "") ? { node: text[at + 1], end: at + 2 } : null; }
  if (sign === "`") { return codeAt(text, at); }
  if (sign === "h") { return addressAt(text, at, /^[^\s<>"`|]+/); }
  if (sign === "<") {
    const found = addressAt(text, at + 1, /^[^\s<>]+(?=>)/);
    return found && { node: found.node, end: found.end + 1 };
  }
  if (sign === "[" || (sign === "!" && text[at + 1] === "[")) { return linkAt(text, at + (sign === "!"), depth); }
  return markedAt(text, at, depth);
}
function codeAt(text, at) {
  const mark = /^`+/.exec(text.slice(at, at + 20))[0];
  const end = closing(text, mark, at + mark.length);
  if (end < 0) { return null; }
  return { node: element("code", "", text.slice(at + mark.length, end).replace(/^ (.+) $/, "$1")), end: end + mark.length };
}
function closing(text, mark, from) {
  return text.slice(from, from + SPAN_MAX).indexOf(mark) < 0 ? -1 : text.indexOf(mark, from);
}
function addressAt(text, at, form) {
  const found = form.exec(text.slice(at, at + SPAN_MAX));
  if (!found || !/^(https?:\/\/|mailto:)/.test(found[0])) { return null; }
  /* A sign that ends the sentence is not the address's, nor a bracket that was opened before it. */
  let address = found[0].replace(/[.,:;!?'*_~]+$/, "");
  while (address.endsWith(")") && address.split(")").length > address.split("(").length) { address = address.slice(0, -1); }
  const made = linkTo(address, address);
  return made && { node: made, end: at + address.length };
}
function linkAt(text, at, depth) {
  const middle = closing(text, "](", at + 1);
  if (middle < 0 || text.slice(at + 1, middle).includes("[")) { return null; }
  const target = /^\( *<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?: +"[^"]*")? *\)/.exec(text.slice(middle + 1, middle + SPAN_MAX));
  const made = target && linkTo(target[1]);
  if (!made) { return null; }
  drawInline(made, text.slice(at + 1, middle).replace(/https?:\/\//g, ""), depth + 4);
  if (!made.textContent.trim()) { made.textContent = shown(target[1]); }
  const url = webAddress(target[1]);
  /* Where the words are not the address, the host stands behind them: words may say another. */
  if (url.host && !made.textContent.includes(url.host)) { made.append(element("span", "host", " (" + url.host + ")")); }
  return { node: made, end: middle + 1 + target[0].length };
}
function markedAt(text, at, depth) {
  const mark = MARKS.find((each) => text.startsWith(each[0], at)), from = at + (mark ? mark[0].length : 0);
  if (!mark || !/\S/.test(text[from] || "")) { return null; }
  if (mark[0][0] === "_" && /\w/.test(text[at - 1] || "")) { return null; }  /* snake_case */
  let end = from - mark[0].length;
  for (let tried = 0; tried < ENDS_MAX; tried += 1) {
    end = closing(text, mark[0], end + mark[0].length);
    if (end < 0 || end - from > SPAN_MAX) { return null; }
    const isWord = mark[0][0] === "_" && /\w/.test(text[end + mark[0].length] || "");
    const isLonger = mark[0].length === 1 && (text[end + 1] === mark[0] || text[end - 1] === mark[0]);
    if (end === from || /\s/.test(text[end - 1]) || isWord || isLonger) { continue; }
    const made = element(mark[1]);
    drawInline(made, text.slice(from, end), depth + 1);
    return { node: made, end: end + mark[0].length };
  }
  return null;
}
