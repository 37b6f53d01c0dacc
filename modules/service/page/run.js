/* How a run is drawn, one that goes on or one that was kept: its steps as a tree of spans, the
   pictures of tools, its questions, its answer. Changes are drawn once a frame, however many come. */
const SHOWN_MAX = 40;  /* of the steps within one; the earlier ones stand behind a button */
const SHOWN_MORE = 200;

const frames = { waiting: new Set(), asked: false };
function drawSoon(draw) {
  frames.waiting.add(draw);
  if (frames.asked) { return; }
  frames.asked = true;
  requestAnimationFrame(function () {
    frames.asked = false;
    const those = [...frames.waiting];
    frames.waiting.clear();
    those.forEach(function (each) { each(); });
  });
}

/* The steps within the span of a run; `draw` takes the spans that have changed. */
function stepsView(run) {
  const nodes = new Map();  /* of what is on the page, by its span */
  const box = element("div", "steps");
  nodes.set(run, makeNode(run, null, box));
  box.addEventListener("keydown", function (event) {
    if (isRowKey(event, [...box.querySelectorAll(".row")])) { event.stopPropagation(); }
  });

  function makeNode(span, view, list) {
    const node = { span: span, view: view, list: list, parts: null, from: 0, to: 0, limit: SHOWN_MAX, earlier: null, bar: null, isTouched: false };
    if (list) { list.setAttribute("role", "list"); list.setAttribute("aria-label", "Steps"); }
    return node;
  }
  function drawChildren(node) {
    const children = node.span.children;
    if (node.to === children.length) { return; }
    if (!node.list) {
      node.list = element("div", "children");
      node.list.setAttribute("role", "list");
      node.list.setAttribute("aria-label", "Steps of " + cut(node.span.name, 80));
      node.view.item.append(node.list);
    }
    const first = Math.max(node.to, children.length - node.limit);
    while (node.from < Math.min(children.length - node.limit, node.to)) {
      if (!drop(children[node.from])) { break; }
      node.from += 1;
    }
    if (first > node.to) { node.from = first; }
    children.slice(first).forEach(function (child) { listFor(node, child).append(drawNode(child)); });
    node.to = children.length;
    drawEarlier(node);
  }
  /* Parts of a request stand side by side. */
  function listFor(node, child) {
    if (child.kind !== "subtask") { return node.list; }
    if (!node.parts) {
      node.parts = element("div", "parts");
      node.parts.setAttribute("role", "list");
      node.parts.setAttribute("aria-label", "Parts of the request");
      const place = element("div");
      place.setAttribute("role", "listitem");
      place.append(node.parts);
      node.list.append(place);
    }
    return node.parts;
  }
  function drawNode(span) {
    const view = spanView(span, run, "", 0);
    const node = makeNode(span, view, null);
    view.row.addEventListener("click", function () { node.isTouched = true; });
    nodes.set(span, node);
    update(node);
    return view.item;
  }
  function drop(span) {
    const node = nodes.get(span);
    if (!node) { return true; }
    if (node.view.item.contains(document.activeElement)) { return false; }
    forget(node);
    node.view.item.remove();
    return true;
  }
  function forget(node) {
    nodes.delete(node.span);
    node.span.children.forEach(function (child) { if (nodes.has(child)) { forget(nodes.get(child)); } });
  }
  function drawEarlier(node) {
    if (!node.from) { return; }
    if (!node.earlier) {
      node.earlier = element("button", "earlier");
      node.earlier.type = "button";
      node.earlier.addEventListener("click", function () { showEarlier(node); });
      node.list.before(node.earlier);
    }
    node.earlier.textContent = count(node.from, "earlier step") + ": show " + (node.from > SHOWN_MORE ? SHOWN_MORE + " of them" : "them");
  }
  function showEarlier(node) {
    const from = Math.max(node.from - SHOWN_MORE, 0);
    const those = node.span.children.slice(from, node.from);
    node.limit += those.length;
    node.from = from;
    const drawn = those.filter(function (child) { return child.kind !== "subtask"; }).map(drawNode);
    node.list.prepend(...drawn);
    those.filter(function (child) { return child.kind === "subtask"; }).forEach(function (child) { listFor(node, child).append(drawNode(child)); });
    if (drawn.length) { drawn[0].querySelector(".row").focus(); }
    if (from) { drawEarlier(node); } else { node.earlier.remove(); node.earlier = null; }
  }
  function update(node) {
    const span = node.span;
    if (node.view) {
      const isRunning = span.state === "running";
      if (span.kind === "plan" && !node.isTouched && node.view.isOpen !== isRunning) { node.view.toggle(isRunning); }
      node.view.update();
      drawProgress(node);
    }
    drawChildren(node);
  }
  function drawProgress(node) {
    const progress = node.span.progress;
    if (!progress) {
      if (node.bar) { node.bar.remove(); node.bar = null; }
      return;
    }
    if (!node.bar) {
      node.bar = element("progress");
      node.bar.setAttribute("aria-label", "Progress of " + cut(node.span.name, 80));
      node.view.row.after(node.bar);
    }
    if (progress.total > 0) {
      node.bar.max = progress.total;
      node.bar.value = Math.min(progress.value, progress.total);
    } else { node.bar.removeAttribute("value"); }
  }
  function draw(spans) {
    spans.forEach(function (span) {
      const node = nodes.get(span);
      if (node) { update(node); }
    });
  }
  function tick() {
    nodes.forEach(function (node) { if (node.view && node.span.seconds === null) { node.view.update(); } });
  }
  draw([run]);
  return { box: box, draw: draw, tick: tick };
}

function summaryOf(span, counts, doing) {
  const facts = [];
  if (counts.plan) { facts.push(count(counts.plan, "plan")); }
  if (counts.call) { facts.push(count(counts.call, "tool call")); }
  const seconds = span.seconds === null ? Math.max(Date.now() / 1000 - span.started_at, 0) : span.seconds;
  facts.push(span.seconds === null ? Math.floor(seconds) + " s" : timeText(seconds));
  if (span.tokens) { facts.push(count(span.tokens, "token")); }
  if (span.cost) { facts.push(costText(span.cost)); }
  return [doing, facts.join(" · ")].filter(Boolean).join(" · ");
}
function countsOf(span) {
  const counts = { plan: 0, call: 0 };
  (function add(inner) {
    if (inner.kind in counts) { counts[inner.kind] += 1; }
    inner.children.forEach(add);
  })(span);
  return counts;
}
function workBox() {
  const box = element("details", "work"), summary = element("summary"), text = element("span");
  summary.append(text);
  box.append(summary);
  return { box: box, text: text, show: function (words) { if (text.textContent !== words) { text.textContent = words; } } };
}

/* The steps of a run that was kept (a span of the trace); drawn when they are first opened. */
function keptWork(span) {
  const work = workBox();
  work.show(summaryOf(span, countsOf(span), ""));
  work.box.addEventListener("toggle", function () {
    if (work.box.open && work.box.childNodes.length === 1) { work.box.append(stepsView(span).box); }
  });
  return work.box;
}

/* The answer of the agent, as it comes to be. */
function answerView(run) {
  const article = element("article", "answer");
  article.setAttribute("aria-label", "Answer");
  const work = workBox(), steps = stepsView(run.span);
  work.box.open = true;
  work.box.append(steps.box);
  const gallery = element("div", "gallery"), asked = element("div", "questions"), text = element("div", "markdown");
  const trouble = element("p", "trouble");
  trouble.hidden = true;
  article.append(work.box, gallery, asked, text, trouble);
  const forms = new Map();
  let drawn = "", isEnded = false;

  function draw() {
    steps.draw(run.changed);
    run.changed.clear();
    showHead();
    while (gallery.childNodes.length < run.pictures.length) { gallery.append(picture(run.pictures[gallery.childNodes.length])); }
    drawQuestions();
    if (run.answer !== drawn) { drawn = run.answer; drawAnswer(text, drawn); }
    if (run.isDone && !isEnded) {
      isEnded = true;
      article.classList.remove("going");
      work.box.open = false;
      if (run.problem || run.status !== "done") { tell(endOfRun(run)); }
    }
  }
  function tell(words) { trouble.textContent = shown(words); trouble.hidden = !words; }
  function showHead() {
    article.classList.toggle("going", !run.isDone);
    const waits = run.status === "queued" && run.place ? "waiting, number " + run.place + " in the queue" : run.doing;
    work.show(run.isDone ? summaryOf(run.span, run.counts, "") : summaryOf(run.span, run.counts, "Working: " + (waits || "starting")));
  }
  function drawQuestions() {
    run.questions.forEach(function (each, id) {
      if (forms.has(id)) { return; }
      const form = questionForm(run, each.question);
      forms.set(id, form);
      asked.append(form);
      /* Who types next, answers. A button takes no focus: the next Enter would say yes. */
      const message = document.getElementById("message"), field = form.querySelector("textarea, input, select");
      if (field && document.activeElement === message && !message.value) { field.focus(); }
      say("A question: " + each.question.text);
    });
    forms.forEach(function (form, id) {
      if (run.questions.has(id)) { return; }
      const hadFocus = form.contains(document.activeElement);
      form.remove();
      forms.delete(id);
      if (hadFocus) { document.getElementById("message").focus(); }
    });
  }
  showHead();
  return { article: article, run: run, draw: draw, tell: tell, tick: function () { if (!run.isDone) { showHead(); steps.tick(); } } };
}
/* Why a run has no answer, or not a whole one, in words. */
function endOfRun(run) {
  if (run.problem) { return run.problem.detail || run.problem.title || "The run failed."; }
  const words = { interrupted: "Stopped before there was an answer.", no_answer: "There is no answer.", failed: "The run failed." };
  return run.message || words[run.status] || "";
}
function picture(given) {
  const figure = element("figure"), image = element("img");
  image.src = "data:" + given.type + ";base64," + given.data;
  image.alt = shown(given.words);
  figure.append(image, element("figcaption", "quiet", given.words));
  return figure;
}
/* An answer, and the sources that the agent put below it as a list of their own. */
function drawAnswer(place, text) {
  const found = /\n\nSources: ([^\n]+)\s*$/.exec(text.slice(-5000));
  let body = place.querySelector(".body");
  if (!body) { body = element("div", "body"); place.append(body); }
  drawMarkdown(body, found ? text.slice(0, -found[0].length) : text);
  const old = place.querySelector(".sources");
  if (old) { old.remove(); }
  if (!found) { return; }
  const sources = element("section", "sources");
  const list = element("ul");
  found[1].split("; ").forEach(function (source) {
    const item = element("li");
    const link = linkTo(source);
    if (link) { link.textContent = shown(source); }
    item.append(link || element("bdi", "", source));
    list.append(item);
  });
  sources.append(element("h3", "", "Sources"), list);
  place.append(sources);
}
