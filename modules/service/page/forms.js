/* The fields of a form, as MCP's elicitation has them: text, numbers, yes or no, choices. */
const ids = { last: 0 };
function newId() { ids.last += 1; return "id-" + ids.last; }

function fieldsOf(schema) {
  const needed = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(schema.properties || {}).map(function (pair) {
    return fieldOf(pair[0], pair[1] || {}, needed.includes(pair[0]));
  });
}
function choicesOf(schema) {
  const titled = schema.oneOf || schema.anyOf;
  if (Array.isArray(titled)) { return titled.map(function (each) { return [each.const, each.title || each.const]; }); }
  if (!Array.isArray(schema.enum)) { return null; }
  const names = Array.isArray(schema.enumNames) && schema.enumNames.length === schema.enum.length ? schema.enumNames : schema.enum;
  return schema.enum.map(function (value, place) { return [value, names[place]]; });
}
function fieldOf(name, schema, isNeeded) {
  const title = schema.title || name;
  const box = element("div", "field");
  const field = { name: name, title: title, isNeeded: isNeeded, box: box, input: null, read: null, check: function (value) { return wrongWith(title, value, schema); } };
  const choices = choicesOf(schema.type === "array" ? schema.items || {} : schema);
  const words = element("label", "", title + (isNeeded ? "" : " (if you like)"));
  if (schema.type === "array" && choices) {
    const group = element("fieldset");
    group.append(element("legend", "", words.textContent));
    const boxes = choices.map(function (choice) { return checkIn(group, choice[1], [].concat(schema.default || []).includes(choice[0])); });
    field.input = boxes[0];
    field.read = function () {
      const chosen = choices.filter(function (choice, place) { return boxes[place].checked; }).map(function (choice) { return choice[0]; });
      return chosen.length || isNeeded ? chosen : undefined;
    };
    box.append(group);
  } else if (schema.type === "boolean") {
    field.input = checkIn(box, title, schema.default === true);
    field.read = function () { return field.input.checked; };
  } else {
    const input = choices ? selectOf(choices, isNeeded) : inputOf(schema);
    input.id = newId();
    words.htmlFor = input.id;
    if (schema.default !== undefined && schema.default !== null) { input.value = String(schema.default); }
    field.input = input;
    field.read = function () {
      if (input.validity.badInput) { return NaN; }
      if (input.value === "") { return undefined; }
      if (schema.type === "number" || schema.type === "integer") { return Number(input.value); }
      return schema.format === "date-time" && !Number.isNaN(Date.parse(input.value)) ? new Date(input.value).toISOString() : input.value;
    };
    box.append(words, input);
  }
  if (schema.description) {
    const told = element("p", "quiet", schema.description);
    told.id = newId();
    field.input.setAttribute("aria-describedby", told.id);
    box.append(told);
  }
  return field;
}
function selectOf(choices, isNeeded) {
  const select = element("select");
  [["", isNeeded ? "Choose" : "None"]].concat(choices).forEach(function (choice) {
    const option = element("option", "", choice[1]);
    option.value = choice[0];
    select.append(option);
  });
  return select;
}
function inputOf(schema) {
  const input = element("input");
  const types = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };
  input.type = schema.type === "number" || schema.type === "integer" ? "number" : types[schema.format] || "text";
  if (input.type === "number") { input.step = schema.type === "integer" ? "1" : "any"; }
  return input;
}
/* What is wrong with a value, in words; the server checks it again. */
function wrongWith(title, value, schema) {
  if (typeof value === "number") {
    if (Number.isNaN(value)) { return title + " is to be a number."; }
    if (schema.type === "integer" && !Number.isInteger(value)) { return title + " is to be a whole number."; }
    if (typeof schema.minimum === "number" && value < schema.minimum) { return title + " is to be at least " + schema.minimum + "."; }
    if (typeof schema.maximum === "number" && value > schema.maximum) { return title + " is to be at most " + schema.maximum + "."; }
  } else if (typeof value === "string") {
    if (schema.minLength > value.length) { return title + " needs at least " + count(schema.minLength, "character") + "."; }
    if (schema.maxLength < value.length) { return title + " may have at most " + count(schema.maxLength, "character") + "."; }
    if (schema.format === "email" && !/^\S+@\S+$/.test(value)) { return title + " is to be an email address."; }
    if (schema.format === "uri" && !/^[a-z][a-z0-9+.-]*:/i.test(value)) { return title + " is to be an address such as https://example.org."; }
  } else if (Array.isArray(value)) {
    if (schema.minItems > value.length) { return title + ": choose at least " + schema.minItems + "."; }
    if (schema.maxItems < value.length) { return title + ": choose at most " + schema.maxItems + "."; }
  }
  return "";
}
