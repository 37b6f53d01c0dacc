/* Text of others stays text; what can't be seen, or would turn a line round, shows as an escape. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
function shown(text) {
  return String(text).replace(/\r\n/g, "\n").replace(UNSEEN, function (sign) {
    return "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0");
  });
}
function element(tag, classes, text, attributes) {
  const made = document.createElement(tag);
  if (classes) { made.className = classes; }
  if (text !== undefined) { made.textContent = shown(text); }
  Object.entries(attributes || {}).forEach(function (pair) { made.setAttribute(pair[0], shown(pair[1])); });
  return made;
}
/* What may be larger than its place: keys scroll it, too. */
function scrollable(made, label) {
  made.tabIndex = 0;
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", shown(label));
  return made;
}
function cut(text, characters) {
  return text.length > characters ? text.slice(0, characters) + "…" : text;
}
function timeText(seconds) {
  if (seconds < 0.1) { return Math.round(seconds * 1000) + " ms"; }
  if (seconds < 100) { return seconds.toFixed(seconds < 10 ? 2 : 1) + " s"; }
  const minutes = Math.floor(Math.round(seconds) / 60);
  if (minutes >= 120) { return Math.floor(minutes / 60).toLocaleString("en") + " h " + (minutes % 60) + " min"; }
  return minutes + " min " + (Math.round(seconds) % 60) + " s";
}
function costText(dollars) {
  return dollars && dollars < 0.0001 ? "under $0.0001" : "$" + dollars.toFixed(4);
}
function count(number, thing) {
  return number.toLocaleString("en") + " " + thing + (number === 1 ? "" : "s");
}
