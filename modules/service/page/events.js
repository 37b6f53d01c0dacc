/* What a run's events come to: spans, as the trace page has them, which change as events come;
   its answer, its questions, what it used. Nothing is drawn here. */
const RESULT_CHARACTERS = 200;  /* of a result beside the name of its call */
const PICTURES = /^image\/(png|jpeg|gif|webp)$/;
const PICTURES_MAX = 50;
const SUBTASK_STATES = { completed: "ok", failed: "failed", skipped: "skipped", blocked: "skipped", cancelled: "open" };

function makeSpan(kind, name, at) {
  return { kind: kind, name: name, started_at: at, seconds: null, state: "running", note: "", details: [],
    tokens: 0, cost: 0, children: [], progress: null };
}
function makeRun(id, request) {
  const now = Date.now() / 1000;
  const span = makeSpan("run", request || "", now);
  return { id: id, last: 0, at: now, conversation: null, span: span, answer: "", status: "queued", place: null, message: "", isDone: false,
    problem: null, usage: null, doing: "", questions: new Map(), parts: new Map(), pictures: [], calls: new Map(),
    root: { span: span, plan: null, asking: null }, changed: new Set(), counts: { plan: 0, call: 0 } };
}
function oneLine(text, characters) { return cut(String(text).replace(/\s+/g, " ").trim(), characters); }
function valueText(value) { return typeof value === "string" ? value : JSON.stringify(value, null, 2); }
function argumentsText(values) {
  return Object.entries(values || {}).map(function (pair) { return pair[0] + ": " + JSON.stringify(pair[1]); }).join(", ");
}

/* Adds one event. What has changed stands in `changed`, until who draws it empties that. */
function addEvent(run, event) {
  if (run.isDone) { return; }
  const place = typeof event.step === "string" && event.step ? partOf(run, event) : run.root;
  const read = READ[event.type];
  if (!read) { return; }  /* a newer service may tell what this page does not know */
  try {
    read(run, event, place);
    run.at = event.at;
  } catch (error) { console.error(event.type, error); }  /* what comes next is told all the same */
}
function change(run, span) { run.changed.add(span); }
function begin(run, parent, kind, name, at) {
  const span = makeSpan(kind, name, at);
  parent.children.push(span);
  if (kind in run.counts) { run.counts[kind] += 1; }
  change(run, parent);
  change(run, span);
  return span;
}
function end(run, span, state, at, note) {
  if (span.seconds !== null) { return; }
  span.seconds = span.state === "waiting" ? 0 : Math.max(at - span.started_at, 0);
  span.state = state;
  if (note !== undefined) { span.note = note; }
  span.progress = null;
  change(run, span);
}
function told(run, parent, name, event, text, note) {
  const span = begin(run, parent, "decision", name, event.at);
  if (text) { span.details.push(["in full", text]); }
  end(run, span, "ok", event.at, oneLine(note === undefined ? text || "" : note, RESULT_CHARACTERS));
  return span;
}
function partOf(run, event) {
  let part = run.parts.get(event.step);
  if (!part) {
    const span = begin(run, run.span, "subtask", event.step, event.at);
    span.state = "waiting";
    part = { span: span, plan: null, asking: null, id: event.step };
    run.parts.set(event.step, part);
  }
  return part;
}
/* The plan that runs; calls are its children. Without one, as where a page joins late, its whole. */
function within(place) { return place.plan || place.span; }
function endPlan(run, place, state, at, note) {
  if (place.plan) { end(run, place.plan, state, at, note); }
  place.plan = null;
}
function endAsking(run, place, state, at, note) {
  if (place.asking) { end(run, place.asking, state, at, note); }
  place.asking = null;
}
/* A call that was not sent, as it was refused or its result was kept, has no number. */
function callOf(run, event, place) {
  if (event.call === null) { return startCall(run, Object.assign({}, event, { call: "unsent " + run.last }), place); }
  return run.calls.get(keyOf(event)) || startCall(run, event, place);
}
function keyOf(event) { return JSON.stringify([event.step || "", event.attempt || 0, event.call]); }
function startCall(run, event, place) {
  const span = begin(run, within(place), "call", event.tool, event.at);
  const values = event.arguments || {};
  span.note = oneLine(argumentsText(values), RESULT_CHARACTERS);
  if (Object.keys(values).length) { span.details.push(["arguments", valueText(values)]); }
  run.calls.set(keyOf(event), span);
  run.doing = event.tool;
  return span;
}
function addUsed(run, place, event) {
  const tokens = (event.input_tokens || 0) + (event.output_tokens || 0);
  [place.asking, place.span, place === run.root ? null : run.span].forEach(function (span) {
    if (!span) { return; }
    span.tokens += tokens;
    span.cost += event.cost || 0;
    change(run, span);
  });
}

const STAGES = { perception: "understanding the request", decision: "planning", summary: "summing up", text: "writing" };
const READ = {
  "run.queued": function (run, event) { run.status = "queued"; run.place = event.place; change(run, run.span); },
  "run.started": function (run, event, place) {
    if (place !== run.root) { return; }
    run.status = "running";
    run.conversation = event.conversation_id || run.conversation;
    run.span.started_at = event.at;
    run.span.name = event.request || run.span.name;
    run.doing = "starting";
    change(run, run.span);
  },
  "supervisor.thinking": function (run, event, place) {
    const stage = STAGES[event.stage] || event.stage || "";
    run.doing = stage || event.message || "thinking";
    if (!place.asking || place.asking.seconds !== null || place.asking.stage !== event.stage) {
      endAsking(run, place, "ok", event.at);
      place.asking = begin(run, place.span, "model", stage || "thinking", event.at);
      place.asking.stage = event.stage;
    }
    place.asking.note = oneLine([event.model, event.message].filter(Boolean).join(": "), RESULT_CHARACTERS);
    change(run, place.asking);
  },
  "supervisor.decided": function (run, event, place) {
    told(run, place.span, event.action || "decided", event, event.reason);
  },
  "model.answered": function (run, event, place) {
    if (!place.asking) { place.asking = begin(run, place.span, "model", event.purpose || "model", event.at - (event.seconds || 0)); }
    addUsed(run, place, event);
    const counts = event.input_tokens + event.output_tokens > 0
      ? event.input_tokens.toLocaleString("en") + " tokens read, " + event.output_tokens.toLocaleString("en") + " written" : "";
    endAsking(run, place, "ok", event.at, [event.model, counts, event.cost ? costText(event.cost) : ""].filter(Boolean).join(" · "));
  },
  "model.trouble": function (run, event, place) {
    const span = begin(run, place.span, "retry", event.model || "model", event.at);
    const next = event.successor ? event.successor + " takes over" : event.pause_seconds ? "again in " + timeText(event.pause_seconds) : "";
    span.details.push(["reason", event.message || ""]);
    end(run, span, "failed", event.at, [oneLine(event.message || "", RESULT_CHARACTERS), next].filter(Boolean).join(" · "));
    run.doing = next || "a model has trouble";
  },
  "plan.written": function (run, event, place) {
    endAsking(run, place, "ok", event.at);
    endPlan(run, place, "ok", event.at);
    const again = event.attempt_number > 1 ? ", retry" : "";
    place.plan = begin(run, place.span, "plan", "plan " + event.number + "." + (event.attempt_number || 1) + again, event.at);
    place.plan.details.push(["plan", event.source || ""]);
    run.doing = "running the plan";
  },
  "plan.repaired": function (run, event, place) {
    if (!place.plan) { return; }
    place.plan.details.push(["repaired", (event.repairs || []).map(function (text) { return "- " + text; }).join("\n")]);
    place.plan.note = count((event.repairs || []).length, "repair");
    change(run, place.plan);
  },
  "plan.failed": function (run, event, place) {
    if (!place.plan) { place.plan = begin(run, place.span, "plan", "plan " + event.number + "." + (event.attempt_number || 1), event.at); }
    place.plan.details.push(["failure", event.failure || ""]);
    const left = typeof event.lifelines_left === "number" ? count(event.lifelines_left, "try").replace("trys", "tries") + " left" : "";
    endPlan(run, place, "failed", event.at, [oneLine(event.failure || "", RESULT_CHARACTERS), left].filter(Boolean).join(" · "));
    run.doing = "planning again";
  },
  "plan.observed": function (run, event, place) {
    if (place.plan) { place.plan.details.push(["goes on with", event.text || ""]); }
    endPlan(run, place, "ok", event.at, oneLine(event.text || "", RESULT_CHARACTERS));
    run.doing = "going on";
  },
  "tool.start": startCall,
  "tool.progress": function (run, event, place) {
    const span = callOf(run, event, place);
    span.progress = { value: event.progress, total: event.total || null };
    if (event.message) { span.note = oneLine(event.message, RESULT_CHARACTERS); }
    change(run, span);
  },
  "tool.content": function (run, event, place) {
    const span = callOf(run, event, place);
    if (PICTURES.test(event.content_type) && event.encoding === "base64" && event.data && run.pictures.length < PICTURES_MAX) {
      const words = event.metadata && (event.metadata.alt_text || event.metadata.title);
      run.pictures.push({ type: event.content_type, data: event.data, words: words || "Picture by " + event.tool });
    } else {
      const why = event.metadata && event.metadata.left_out;
      const text = why ? "(" + why + ")" : event.encoding ? "(" + event.content_type + ", " + count(String(event.data).length, "character") + " in " + event.encoding + ")" : valueText(event.data);
      span.details.push([event.content_type || "content", text]);
    }
    change(run, span);
  },
  "tool.complete": function (run, event, place) {
    const span = callOf(run, event, place);
    const text = event.result === undefined ? "" : valueText(event.result);
    span.details.push(["result", text]);
    end(run, span, event.kept ? "kept" : "ok", event.at, oneLine(text, RESULT_CHARACTERS));
    if (typeof event.seconds === "number") { span.seconds = event.seconds; }
  },
  "tool.error": function (run, event, place) {
    const span = callOf(run, event, place);
    span.details.push([event.refused ? "why it was refused" : "error", event.message || ""]);
    end(run, span, event.refused ? "refused" : "failed", event.at, oneLine(event.message || "", RESULT_CHARACTERS));
    if (typeof event.seconds === "number") { span.seconds = event.seconds; }
  },
  "workflow.created": function (run, event) {
    if (event.replanned) { told(run, run.span, "planned anew", event, event.replanned); }
    (event.steps || []).forEach(function (step) {
      const part = partOf(run, { step: step.id, at: event.at });
      part.span.name = [step.id, step.role].filter(Boolean).join(" · ");
      part.span.note = oneLine(step.description || "", RESULT_CHARACTERS);
      if (!part.span.details.length) {
        part.span.details.push(["asked", step.description || ""]);
        if (step.after && step.after.length) { part.span.details.push(["needs", step.after.join(", ")]); }
      }
      change(run, part.span);
    });
    if (event.notes && event.notes.length) { told(run, run.span, "planned", event, [].concat(event.notes).join("\n")); }
    run.doing = count(run.parts.size, "part");
  },
  "workflow.step.start": function (run, event, place) {
    if (place === run.root) { return; }
    place.span.state = "running";
    place.span.seconds = null;
    place.span.started_at = event.at;
    if (event.role) { place.span.name = event.step + " · " + event.role; }
    if (event.attempt > 1) { place.span.note = "try " + event.attempt; }
    change(run, place.span);
  },
  "workflow.step.complete": function (run, event, place) {
    if (place === run.root) { return; }
    const state = SUBTASK_STATES[event.state] || "open";
    endAsking(run, place, state === "ok" ? "ok" : "open", event.at);
    endPlan(run, place, state === "ok" || state === "failed" ? state : "open", event.at);
    if (event.text) { place.span.details.push([state === "ok" ? "result" : "why it has none", event.text]); }
    end(run, place.span, state, event.at, oneLine(event.text || event.state || "", RESULT_CHARACTERS));
    if (typeof event.seconds === "number") { place.span.seconds = event.seconds; }
  },
  "workflow.message": function (run, event, place) {
    if (event.kind === "task") { return; }  /* the part says what it was asked */
    told(run, place.span, event.sender + " → " + (event.to || "all"), event, event.text);
  },
  "workflow.judged": function (run, event) {
    told(run, run.span, "judged: " + String(event.verdict).replace(/_/g, " "), event, event.reason);
  },
  "workflow.board": function (run, event) {
    if (event.topic === "progress" || event.topic === "mission") { return; }  /* the run itself tells it */
    told(run, run.span, "whiteboard", event, [event.key, event.text].filter(Boolean).join(": "));
  },
  "workflow.complete": function (run) { run.doing = "putting it together"; change(run, run.span); },
  "clarify.request": function (run, event, place) {
    const question = event.question;
    const span = begin(run, within(place), "question", "asked you", event.at);
    span.note = oneLine(question.text || "", RESULT_CHARACTERS);
    span.details.push(["question", [question.text, question.detail].filter(Boolean).join("\n\n")]);
    run.questions.set(question.id, { question: question, span: span });
    run.doing = "waiting for you";
  },
  "clarify.answered": function (run, event) {
    const asked = run.questions.get(event.question_id);
    if (!asked) { return; }
    end(run, asked.span, event.answered ? "ok" : "open", event.at);
    run.questions.delete(event.question_id);
    run.doing = "going on";
    change(run, run.span);
  },
  notice: function (run, event, place) { told(run, place.span, event.source || "notice", event, event.text); },
  "server.log": function (run, event, place) {
    told(run, within(place), event.server + " says" + (event.level ? " (" + event.level + ")" : ""), event, event.text);
  },
  "response.chunk": function (run, event, place) {
    if (place !== run.root) { return; }
    endPlan(run, place, "ok", event.at);
    run.answer += event.content;
    change(run, run.span);
  },
  error: function (run, event) { run.problem = event.problem || { detail: "The run failed." }; change(run, run.span); },
  "response.done": function (run, event) {
    /* Of a run that was left by a killed service, the end is told when it is read. */
    const at = event.seconds > 0 ? event.at : run.at;
    [run.root].concat([...run.parts.values()]).forEach(function (place) {
      endAsking(run, place, "open", at);
      endPlan(run, place, { done: "ok", interrupted: "open" }[event.status] || "failed", at);
    });
    run.calls.forEach(function (span) { end(run, span, "open", at); });
    run.parts.forEach(function (part) { end(run, part.span, part.span.state === "waiting" ? "skipped" : "open", at); });
    run.questions.forEach(function (asked) { end(run, asked.span, "open", at); });
    run.questions.clear();
    run.status = event.status;
    run.message = event.message || "";
    run.usage = event.usage || {};
    run.conversation = event.conversation_id || run.conversation;
    if (typeof event.answer === "string") { run.answer = event.answer; }
    run.span.tokens = (run.usage.input_tokens || 0) + (run.usage.output_tokens || 0);
    run.span.cost = run.usage.cost || 0;
    end(run, run.span, event.status === "done" ? "ok" : event.status === "interrupted" ? "open" : "failed", at);
    if (event.seconds > 0) { run.span.seconds = event.seconds; }
    run.doing = "";
    run.isDone = true;
  },
};
