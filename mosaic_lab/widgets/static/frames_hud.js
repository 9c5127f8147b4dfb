// The record that belongs to a frame: agent, episode, step, reward, return, speed, text.
const HUD_FIELDS = [
  ["episode", "episode", count],
  ["step", "step", count],
  ["reward", "reward", short],
  ["episode_return", "return", short],
  ["steps_per_second", "steps/s", short],
];

// Returns what shows a record in `box`.
function hudOn(box) {
  const agent = element("b", "mosaic-hud-agent", box);
  const numbers = HUD_FIELDS.map(([name, label, format]) => {
    const item = element("span", "", box);
    element("i", "", item, label);
    return { name, item, format, value: element("b", "", item) };
  });
  const text = element("span", "mosaic-hud-text", box);
  const put = (node, words, shown = node) => {
    if (node.textContent !== words) node.textContent = words;
    shown.hidden = words === "";
  };
  return (hud) => {
    put(agent, hud.agent ?? "");
    for (const { name, item, format, value } of numbers) put(value, format(hud[name]), item);
    put(text, hud.text ?? "");
  };
}

function count(value) {
  return value == null ? "" : value.toLocaleString("en-US");
}

// Three significant digits, without an exponent where people would not write one.
function short(value) {
  if (value == null) return "";
  const size = Math.abs(value);
  const places = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  const exponent = size >= 1e6 || (size > 0 && size < 1e-3);
  const text = exponent ? value.toExponential(1) : value.toLocaleString("en-US", { maximumFractionDigits: places });
  return text.replace(/^-/, "−");
}
