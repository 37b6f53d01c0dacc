/* The fields of a form, as MCP's elicitation has them: text, numbers, yes or no, choices. The browser
   checks them as it does those of any form; the service checks what was sent again. */
const INPUT_TYPES = { email: "email", uri: "url", date: "date", "date-time": "datetime-local", number: "number", integer: "number" };

/* A box for each field, and `read`, which gives its value, or undefined for none. */
function fieldsOf(schema) {
  const needed = [].concat(schema.required);
  return Object.entries(schema.properties || {}).map(([name, each]) => ({ name, ...fieldOf(name, each || {}, needed.includes(name)) }));
}
function choicesOf(schema) {
  const titled = schema.oneOf || schema.anyOf;
  if (Array.isArray(titled)) { return titled.map((each) => [each.const, each.title || each.const]); }
  return Array.isArray(schema.enum) ? schema.enum.map((value, place) => [value, (schema.enumNames || [])[place] || value]) : null;
}
function fieldOf(name, schema, isNeeded) {
  const title = schema.title || name, words = title + (isNeeded ? "" : " (if you like)");
  const choices = choicesOf(schema.type === "array" ? schema.items || {} : schema);
  const box = element("div", "field");
  let input, read;
  if (schema.type === "array" && choices) {
    const group = element("fieldset");
    group.append(element("legend", "", words));
    const boxes = choices.map(([value, label]) => checkIn(group, label, [].concat(schema.default).includes(value)));
    input = boxes[0];
    read = () => {
      const chosen = choices.filter((choice, place) => boxes[place].checked).map(([value]) => value);
      return chosen.length || isNeeded ? chosen : undefined;
    };
    box.append(group);
  } else if (schema.type === "boolean") {
    input = checkIn(box, title, schema.default === true);
    read = () => input.checked;
  } else {
    input = choices ? selectOf(choices, isNeeded) : inputOf(schema);
    input.id = newId();
    input.required = isNeeded;
    input.value = schema.default ?? "";
    read = () => {
      if (input.value === "") { return undefined; }
      if (input.type === "number") { return Number(input.value); }
      return input.type === "datetime-local" ? new Date(input.value).toISOString() : input.value;
    };
    box.append(element("label", "", words, { for: input.id }), input);
  }
  if (schema.description) {
    const told = element("p", "quiet", schema.description, { id: newId() });
    if (input) { input.setAttribute("aria-describedby", told.id); }
    box.append(told);
  }
  return { box, read };
}
function selectOf(choices, isNeeded) {
  const select = element("select");
  [["", isNeeded ? "Choose" : "None"], ...choices].forEach(([value, words]) => select.append(element("option", "", words, { value })));
  return select;
}
function inputOf(schema) {
  const input = element("input");
  input.type = INPUT_TYPES[schema.format] || INPUT_TYPES[schema.type] || "text";
  const bounds = { min: schema.minimum, max: schema.maximum, minlength: schema.minLength, maxlength: schema.maxLength };
  Object.entries(bounds).forEach(([bound, value]) => { if (typeof value === "number") { input.setAttribute(bound, value); } });
  if (schema.type === "number") { input.step = "any"; }
  return input;
}
