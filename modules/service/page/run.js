/* How a run is drawn, one that goes on or one that was kept: its steps as a tree of spans, the
   pictures of tools, its questions, its answer. Changes are drawn once a frame, however many come. */
const SHOWN_MAX = 40;  /* of the steps within one; the earlier ones stand behind a button */
const SHOWN_MORE = 200;
const REST = 9;  /* drawing an answer that grows takes a tenth of the time at most */

const frames = { waiting: new Set(), asked: false };
function drawSoon(draw) {
  frames.waiting.add(draw);
  if (frames.asked) { return; }
  frames.asked = true;
  requestAnimationFrame(() => {
    frames.asked = false;
    const those = [...frames.waiting];
    frames.waiting.clear();
    those.forEach((each) => each());
  });
}

/* The steps within the span of a run; `draw` takes the spans that have changed. */
function stepsView(run) {
  const nodes = new Map();  /* of what is on the page, by its span */
  const box = listOf("steps", "Steps");
  nodes.set(run, makeNode(run, null, box));
  box.addEventListener("keydown", (event) => { if (isRowKey(event, [...box.querySelectorAll(".row")])) { event.stopPropagation(); } });

  function listOf(classes, label) { return element("div", classes, undefined, { role: "list", "aria-label": label }); }
  /* Those of its children from `from` to `to` are on the page. */
  function makeNode(span, view, list) {
    return { span, view, list, parts: null, from: 0, to: 0, limit: SHOWN_MAX, earlier: null, bar: null, isTouched: false };
  }
  function drawChildren(node) {
    const children = node.span.children;
    if (node.to === children.length) { return; }
    if (!node.list) {
      node.list = listOf("children", "Steps of " + cut(node.span.name, 80));
      node.view.item.append(node.list);
    }
    const first = children.length - node.limit;
    while (node.from < Math.min(first, node.to) && drop(children[node.from])) { node.from += 1; }
    if (first > node.to) { node.from = node.to = first; }
    children.slice(node.to).forEach((child) => listFor(node, child).append(drawNode(child)));
    node.to = children.length;
    drawEarlier(node);
  }
  /* Parts of a request stand side by side. */
  function listFor(node, child) {
    if (child.kind !== "subtask") { return node.list; }
    if (!node.parts) {
      node.parts = listOf("parts", "Parts of the request");
      const place = element("div", "", undefined, { role: "listitem" });
      place.append(node.parts);
      node.list.append(place);
    }
    return node.parts;
  }
  function drawNode(span) {
    const view = spanView(span, run, "", 0), node = makeNode(span, view, null);
    view.row.addEventListener("click", () => { node.isTouched = true; });
    nodes.set(span, node);
    update(node);
    return view.item;
  }
  function drop(span) {
    const node = nodes.get(span);
    if (node.view.item.contains(document.activeElement)) { return false; }
    forget(span);
    node.view.item.remove();
    return true;
  }
  function forget(span) { if (nodes.delete(span)) { span.children.forEach(forget); } }
  function drawEarlier(node) {
    if (!node.from) { return; }
    if (!node.earlier) {
      node.earlier = button("", () => showEarlier(node), "earlier");
      node.list.before(node.earlier);
    }
    node.earlier.textContent = count(node.from, "earlier step") + ": show " + (node.from > SHOWN_MORE ? SHOWN_MORE + " of them" : "them");
  }
  function showEarlier(node) {
    const those = node.span.children.slice(Math.max(node.from - SHOWN_MORE, 0), node.from);
    node.limit += those.length;
    node.from -= those.length;
    const drawn = those.map((child) => {
      const item = drawNode(child);
      if (child.kind === "subtask") { listFor(node, child).append(item); return null; }
      return item;
    }).filter(Boolean);
    node.list.prepend(...drawn);
    if (drawn.length) { drawn[0].querySelector(".row").focus(); }
    if (node.from) { drawEarlier(node); } else { node.earlier.remove(); node.earlier = null; }
  }
  function update(node) {
    if (node.view) {
      const isRunning = node.span.state === "running";
      if (node.span.kind === "plan" && !node.isTouched && node.view.isOpen !== isRunning) { node.view.toggle(isRunning); }
      node.view.update();
      drawProgress(node, node.span.progress);
    }
    drawChildren(node);
  }
  function drawProgress(node, progress) {
    if (!progress) {
      if (node.bar) { node.bar.remove(); node.bar = null; }
      return;
    }
    if (!node.bar) {
      node.bar = element("progress", "", undefined, { "aria-label": "Progress of " + cut(node.span.name, 80) });
      node.view.row.after(node.bar);
    }
    if (progress.total > 0) {
      node.bar.max = progress.total;
      node.bar.value = Math.min(progress.value, progress.total);
    } else { node.bar.removeAttribute("value"); }
  }
  function draw(spans) { spans.forEach((span) => { if (nodes.has(span)) { update(nodes.get(span)); } }); }
  function tick() { nodes.forEach((node) => { if (node.view && node.span.seconds === null) { node.view.update(); } }); }
  draw([run]);
  return { box, draw, tick };
}

function summaryOf(span, counts, doing) {
  const seconds = span.seconds === null ? Math.floor(Math.max(Date.now() / 1000 - span.started_at, 0)) + " s" : timeText(span.seconds);
  return facts(doing, counts.plan && count(counts.plan, "plan"), counts.call && count(counts.call, "tool call"), seconds,
    span.tokens && count(span.tokens, "token"), span.cost && costText(span.cost));
}
function countsOf(span) {
  const counts = { plan: 0, call: 0 };
  (function add(inner) {
    if (inner.kind in counts) { counts[inner.kind] += 1; }
    inner.children.forEach(add);
  })(span);
  return counts;
}
function workBox(words) {
  const box = element("details", "work"), summary = element("summary"), text = element("span", "", words);
  summary.append(text);
  box.append(summary);
  return { box, text };
}
/* The steps of a run that was kept (a span of the trace); drawn when they are first opened. */
function keptWork(span) {
  const { box } = workBox(summaryOf(span, countsOf(span), ""));
  box.addEventListener("toggle", () => { if (box.open && box.childNodes.length === 1) { box.append(stepsView(span).box); } });
  return box;
}

/* The answer of the agent, as it comes to be. */
function answerView(run) {
  const article = element("article", "answer going", undefined, { "aria-label": "Answer" });
  const work = workBox(""), steps = stepsView(run.span);
  work.box.open = true;
  work.box.append(steps.box);
  const gallery = element("div", "gallery"), asked = element("div"), text = element("div", "markdown"), trouble = element("p", "trouble");
  article.append(work.box, gallery, asked, text, trouble);
  const forms = new Map();
  let drawn = "", rested = 0;

  function draw() {
    steps.draw(run.changed);
    run.changed.clear();
    tick();
    gallery.append(...run.pictures.slice(gallery.childNodes.length).map(picture));
    drawQuestions();
    growAnswer();
    if (run.isDone && article.classList.contains("going")) { tell(run.problem || run.status !== "done" ? endOfRun(run) : ""); }
  }
  /* The steps fold when the answer begins: what is read then does not move when it ends. */
  function growAnswer() {
    if (run.answer === drawn) { return; }
    if (!run.isDone && performance.now() < rested) { drawSoon(growAnswer); return; }
    const began = performance.now();
    if (!drawn) { fold(); }
    drawn = run.answer;
    drawAnswer(text, drawn);
    rested = performance.now() + REST * (performance.now() - began);
    keepEndInSight();
  }
  /* Not under the eyes of who reads them. */
  function fold() { if (chat.isNear) { work.box.open = false; } }
  /* The run goes on no more; words tell what is wrong with that. */
  function tell(words) {
    article.classList.remove("going");
    fold();
    if (run.grounded === false) { text.after(ofOwnKnowledge()); }
    trouble.textContent = shown(words);
    article.append(actionsOf(run.answer, run.span.name));
  }
  function tick() {
    const waits = run.status === "queued" && run.place ? "waiting, number " + run.place + " in the queue" : run.doing;
    const words = summaryOf(run.span, run.counts, run.isDone ? "" : "Working: " + (waits || "starting"));
    if (work.text.textContent !== words) { work.text.textContent = words; }
  }
  function drawQuestions() {
    run.questions.forEach(({ question }, id) => {
      if (forms.has(id)) { return; }
      const form = questionForm(run, question);
      forms.set(id, form);
      asked.append(form);
      /* Who types next, answers. A button takes no focus: the next Enter would say yes. */
      const field = form.querySelector(".first") || form.querySelector("textarea, input, select");
      if (field && document.activeElement === message && !message.value) { field.focus(); }
      /* One that is longer than the window is read from its beginning. */
      if (chat.isNear && form.offsetHeight > log.clientHeight) { form.scrollIntoView(); chat.isNear = false; }
      say("A question: " + question.text);
    });
    forms.forEach((form, id) => {
      if (run.questions.has(id)) { return; }
      if (form.contains(document.activeElement)) { message.focus(); }
      form.remove();
      forms.delete(id);
    });
  }
  tick();
  return { article, run, draw, tell, tick: () => { if (!run.isDone) { tick(); steps.tick(); } } };
}
/* What stands under an answer that rests on nothing. */
function ofOwnKnowledge() { return element("p", "quiet", "from the model's own knowledge, nothing was looked up"); }
/* What can be done with an answer, or with a request that has none. */
function actionsOf(answer, request) {
  const actions = element("div", "actions");
  actions.append(answer ? copyButton(() => answer, "Copy answer") : button("Ask again", () => setMessage(request), "small"));
  return actions;
}
/* Why a run has no answer, or not a whole one, in words. */
function endOfRun(run) {
  if (run.problem) { return run.problem.detail || run.problem.title || "The run failed."; }
  const words = { interrupted: "Stopped before there was an answer.", no_answer: "There is no answer.", failed: "The run failed." };
  return run.message || words[run.status] || "";
}
function picture({ type, data, words }) {
  const figure = element("figure"), image = element("img", "", undefined, { alt: words });
  image.addEventListener("load", keepEndInSight);
  image.src = "data:" + type + ";base64," + data;
  figure.append(image, element("figcaption", "quiet", words));
  return figure;
}
/* An answer, and the sources that the agent put below it as a list of their own. */
function drawAnswer(place, text) {
  const found = /\n\nSources: ([^\n]+)\s*$/.exec(text.slice(-5000));
  if (!place.body) {
    place.body = element("div", "body");
    place.append(place.body);
  }
  drawMarkdown(place.body, found ? text.slice(0, -found[0].length) : text);
  while (place.childNodes.length > 1) { place.lastChild.remove(); }
  if (!found) { return; }
  const sources = element("section", "sources"), list = element("ul");
  found[1].split("; ").forEach((source) => {
    const item = element("li");
    item.append(linkTo(source, source) || element("bdi", "", source));
    list.append(item);
  });
  sources.append(element("h3", "", "Sources"), list);
  place.append(sources);
}
