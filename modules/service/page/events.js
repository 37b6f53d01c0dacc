/* What a run's events come to: spans, as the trace page has them, which change as events come;
   its answer, its questions, what it used. Nothing is drawn here. */
const RESULT_CHARACTERS = 200;  /* of a result beside the name of its call */
const PICTURES = /^image\/(png|jpeg|gif|webp)$/;
const PICTURES_MAX = 50;
const SUBTASK_STATES = { completed: "ok", failed: "failed", skipped: "skipped", blocked: "skipped", cancelled: "open" };
const STAGES = { perception: "understanding the request", decision: "planning", summary: "summing up", text: "writing" };

function makeSpan(kind, name, at) {
  return { kind, name, started_at: at, seconds: null, state: "running", note: "", details: [], tokens: 0, cost: 0, children: [], progress: null };
}
function makeRun(id, request) {
  const now = Date.now() / 1000, span = makeSpan("run", request, now);
  return { id, last: 0, at: now, conversation: null, span, answer: "", status: "queued", place: null, message: "", isDone: false,
    problem: null, usage: {}, doing: "", questions: new Map(), parts: new Map(), pictures: [], calls: new Map(),
    root: { span, plan: null, asking: null }, changed: new Set(), counts: { plan: 0, call: 0 } };
}
function oneLine(text, characters = RESULT_CHARACTERS) { return cut(String(text || "").replace(/\s+/g, " ").trim(), characters); }
function valueText(value) { return typeof value === "string" ? value : JSON.stringify(value, null, 2); }
function facts(...those) { return those.filter(Boolean).join(" · "); }

/* Adds one event. What has changed stands in `changed`, until who draws it empties that. */
function addEvent(run, event) {
  const read = READ[event.type];
  if (run.isDone || !read) { return; }  /* a newer service may tell what this page does not know */
  try {
    read(run, event, event.step ? partOf(run, event) : run.root);
    run.at = event.at;
    run.changed.add(run.span);
  } catch (error) { console.error(event.type, error); }  /* what comes next is told all the same */
}
function begin(run, parent, kind, name, at) {
  const span = makeSpan(kind, name, at);
  parent.children.push(span);
  if (kind in run.counts) { run.counts[kind] += 1; }
  run.changed.add(parent).add(span);
  return span;
}
/* `seconds` are those of the service, where it tells them. */
function end(run, span, state, at, note, seconds) {
  if (!span || span.seconds !== null) { return; }
  span.seconds = seconds ?? (span.state === "waiting" ? 0 : Math.max(at - span.started_at, 0));
  span.state = state;
  span.note = note ?? span.note;
  span.progress = null;
  run.changed.add(span);
}
function told(run, parent, name, event, text) {
  const span = begin(run, parent, "decision", name, event.at);
  if (text) { span.details.push(["in full", text]); }
  end(run, span, "ok", event.at, oneLine(text));
}
function partOf(run, event) {
  if (!run.parts.has(event.step)) {
    const span = begin(run, run.span, "subtask", event.step, event.at);
    span.state = "waiting";
    run.parts.set(event.step, { span, plan: null, asking: null });
  }
  return run.parts.get(event.step);
}
/* The plan that runs; calls are its children. Without one, as where a page joins late, its whole. */
function within(place) { return place.plan || place.span; }
/* Ends the plan that runs (`plan`), or the question to a model (`asking`). */
function endOne(run, place, which, state, at, note) {
  end(run, place[which], state, at, note);
  place[which] = null;
}
function beginPlan(run, event, place) {
  const name = "plan " + event.number + "." + (event.attempt_number || 1);
  place.plan = begin(run, place.span, "plan", name + (event.source && event.attempt_number > 1 ? ", retry" : ""), event.at);
}
/* A call that was not sent, as it was refused or its result was kept, has no number. */
function callOf(run, event, place) {
  if (event.call === null) { return startCall(run, { ...event, call: "unsent " + run.last }, place); }
  const span = run.calls.get(keyOf(event)) || startCall(run, event, place);
  run.changed.add(span);
  return span;
}
function keyOf(event) { return JSON.stringify([event.step || "", event.attempt || 0, event.call]); }
function startCall(run, event, place) {
  const span = begin(run, within(place), "call", event.tool, event.at), given = Object.entries(event.arguments || {});
  span.note = oneLine(given.map(([name, value]) => name + ": " + JSON.stringify(value)).join(", "));
  if (given.length) { span.details.push(["arguments", valueText(event.arguments)]); }
  run.calls.set(keyOf(event), span);
  run.doing = event.tool;
  return span;
}
function endCall(run, event, place, state, head, text) {
  const span = callOf(run, event, place);
  span.details.push([head, text]);
  end(run, span, state, event.at, oneLine(text), event.seconds);
}

const READ = {
  "run.queued": (run, event) => { run.status = "queued"; run.place = event.place; },
  "run.started": (run, event, place) => {
    if (place !== run.root) { return; }
    run.status = "running";
    run.conversation = event.conversation_id;
    run.span.started_at = event.at;
    run.span.name = event.request || run.span.name;
    run.doing = "starting";
  },
  "supervisor.thinking": (run, event, place) => {
    const stage = STAGES[event.stage] || event.stage;
    run.doing = stage || event.message || "thinking";
    if (!place.asking || place.asking.stage !== event.stage) {
      endOne(run, place, "asking", "ok", event.at);
      place.asking = begin(run, place.span, "model", stage || "thinking", event.at);
      place.asking.stage = event.stage;
    }
    place.asking.note = oneLine([event.model, event.message].filter(Boolean).join(": "));
    run.changed.add(place.asking);
  },
  "supervisor.decided": (run, event, place) => told(run, place.span, event.action || "decided", event, event.reason),
  "model.answered": (run, event, place) => {
    place.asking = place.asking || begin(run, place.span, "model", event.purpose || "model", event.at - (event.seconds || 0));
    const tokens = event.input_tokens + event.output_tokens;
    new Set([place.asking, place.span, run.span]).forEach((span) => {
      span.tokens += tokens;
      span.cost += event.cost;
      run.changed.add(span);
    });
    const counts = tokens && event.input_tokens.toLocaleString("en") + " tokens read, " + event.output_tokens.toLocaleString("en") + " written";
    endOne(run, place, "asking", "ok", event.at, facts(event.model, counts, event.cost && costText(event.cost)));
  },
  "model.trouble": (run, event, place) => {
    const span = begin(run, place.span, "retry", event.model || "model", event.at);
    const next = event.successor ? event.successor + " takes over" : event.pause_seconds ? "again in " + timeText(event.pause_seconds) : "";
    span.details.push(["reason", event.message]);
    end(run, span, "failed", event.at, facts(oneLine(event.message), next));
    run.doing = next || "a model has trouble";
  },
  "plan.written": (run, event, place) => {
    endOne(run, place, "asking", "ok", event.at);
    endOne(run, place, "plan", "ok", event.at);
    beginPlan(run, event, place);
    place.plan.details.push(["plan", event.source]);
    run.doing = "running the plan";
  },
  "plan.repaired": (run, event, place) => {
    if (!place.plan) { return; }
    place.plan.details.push(["repaired", event.repairs.map((text) => "- " + text).join("\n")]);
    place.plan.note = count(event.repairs.length, "repair");
    run.changed.add(place.plan);
  },
  "plan.failed": (run, event, place) => {
    if (!place.plan) { beginPlan(run, event, place); }
    place.plan.details.push(["failure", event.failure]);
    const left = count(event.lifelines_left, "try").replace("trys", "tries") + " left";
    endOne(run, place, "plan", "failed", event.at, facts(oneLine(event.failure), left));
    run.doing = "planning again";
  },
  "plan.observed": (run, event, place) => {
    if (place.plan) { place.plan.details.push(["goes on with", event.text]); }
    endOne(run, place, "plan", "ok", event.at, oneLine(event.text));
    run.doing = "going on";
  },
  "tool.start": startCall,
  "tool.progress": (run, event, place) => {
    const span = callOf(run, event, place);
    span.progress = { value: event.progress, total: event.total };
    span.note = oneLine(event.message) || span.note;
  },
  "tool.content": (run, event, place) => {
    const span = callOf(run, event, place), { alt_text: words, title, left_out: why } = event.metadata || {};
    if (PICTURES.test(event.content_type) && event.encoding === "base64" && event.data && run.pictures.length < PICTURES_MAX) {
      run.pictures.push({ type: event.content_type, data: event.data, words: words || title || "Picture by " + event.tool });
      return;
    }
    const text = event.encoding ? "(" + event.content_type + ", " + count(String(event.data).length, "character") + " in " + event.encoding + ")" : valueText(event.data);
    span.details.push([event.content_type || "content", why ? "(" + why + ")" : text]);
  },
  "tool.complete": (run, event, place) => endCall(run, event, place, event.kept ? "kept" : "ok", "result", valueText(event.result ?? "")),
  "tool.error": (run, event, place) => {
    endCall(run, event, place, event.refused ? "refused" : "failed", event.refused ? "why it was refused" : "error", event.message);
  },
  "workflow.created": (run, event) => {
    if (event.replanned) { told(run, run.span, "planned anew", event, event.replanned); }
    event.steps.forEach((step) => {
      const { span } = partOf(run, { step: step.id, at: event.at });
      span.name = facts(step.id, step.role);
      span.note = oneLine(step.description);
      if (!span.details.length) {
        span.details.push(["asked", step.description]);
        if (step.after && step.after.length) { span.details.push(["needs", step.after.join(", ")]); }
      }
      run.changed.add(span);
    });
    if (event.notes.length) { told(run, run.span, "planned", event, event.notes.join("\n")); }
    run.doing = count(run.parts.size, "part");
  },
  "workflow.step.start": (run, event, { span }) => {
    Object.assign(span, { state: "running", seconds: null, started_at: event.at });
    if (event.role) { span.name = facts(event.step, event.role); }
    if (event.attempt > 1) { span.note = "try " + event.attempt; }
    run.changed.add(span);
  },
  "workflow.step.complete": (run, event, place) => {
    const state = SUBTASK_STATES[event.state] || "open";
    endOne(run, place, "asking", state === "ok" ? "ok" : "open", event.at);
    endOne(run, place, "plan", state === "skipped" ? "open" : state, event.at);
    if (event.text) { place.span.details.push([state === "ok" ? "result" : "why it has none", event.text]); }
    end(run, place.span, state, event.at, oneLine(event.text || event.state), event.seconds);
  },
  "workflow.message": (run, event, place) => {
    if (event.kind === "task") { return; }  /* the part says what it was asked */
    told(run, place.span, event.sender + " → " + (event.to || "all"), event, event.text);
  },
  "workflow.judged": (run, event) => told(run, run.span, "judged: " + event.verdict.replace(/_/g, " "), event, event.reason),
  "workflow.board": (run, event) => {
    if (event.topic === "progress" || event.topic === "mission") { return; }  /* the run itself tells it */
    told(run, run.span, "whiteboard", event, [event.key, event.text].filter(Boolean).join(": "));
  },
  "workflow.complete": (run) => { run.doing = "putting it together"; },
  "clarify.request": (run, event, place) => {
    const question = event.question, span = begin(run, within(place), "question", "asked you", event.at);
    span.note = oneLine(question.text);
    const calls = (question.calls || []).flatMap((call) => call.values.map((each) => each.name + ": " + JSON.stringify(each.value) + " ← " + each.from));
    span.details.push(["question", [question.text, question.detail, calls.join("\n")].filter(Boolean).join("\n\n")]);
    run.questions.set(question.id, { question, span });
    run.doing = "waiting for you";
  },
  "clarify.answered": (run, event) => {
    const asked = run.questions.get(event.question_id);
    if (!asked) { return; }
    end(run, asked.span, event.answered ? "ok" : "open", event.at);
    run.questions.delete(event.question_id);
    run.doing = "going on";
  },
  notice: (run, event, place) => told(run, place.span, event.source || "notice", event, event.text),
  "server.log": (run, event, place) => told(run, within(place), event.server + " says" + (event.level ? " (" + event.level + ")" : ""), event, event.text),
  "response.chunk": (run, event) => {
    run.answer = (event.restart ? "" : run.answer) + event.content;
    if (event.more) { run.doing = "writing the answer"; } else { endOne(run, run.root, "plan", "ok", event.at); }
  },
  error: (run, event) => { run.problem = event.problem; },
  "response.done": (run, event) => {
    /* Of a run that was left by a killed service, the end is told when it is read. */
    const at = event.seconds > 0 ? event.at : run.at;
    const state = { done: "ok", interrupted: "open" }[event.status] || "failed";
    [run.root, ...run.parts.values()].forEach((place) => {
      endOne(run, place, "asking", "open", at);
      endOne(run, place, "plan", state, at);
    });
    run.calls.forEach((span) => end(run, span, "open", at));
    run.parts.forEach(({ span }) => end(run, span, span.state === "waiting" ? "skipped" : "open", at));
    run.questions.forEach(({ span }) => end(run, span, "open", at));
    run.questions.clear();
    /* What was written and did not become the answer is none. */
    Object.assign(run, { status: event.status, grounded: event.grounded, message: event.message, usage: event.usage, doing: "", isDone: true,
      conversation: event.conversation_id || run.conversation, answer: event.answer ?? "" });
    run.span.tokens = (run.usage.input_tokens || 0) + (run.usage.output_tokens || 0);
    run.span.cost = run.usage.cost || 0;
    end(run, run.span, state, at, undefined, event.seconds > 0 ? event.seconds : undefined);
  },
};
