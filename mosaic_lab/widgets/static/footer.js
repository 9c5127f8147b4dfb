// The bottom of a panel: notices about the run's health, and the tail of its log. A closed log sends its last line only.
function render({ model, el }) {
  el.classList.add("mosaic-footer");
  const notices = element("div", "mosaic-notices", el);
  const log = element("details", "mosaic-log", el);
  const summary = element("summary", "", log);
  element("span", "mosaic-log-name", summary, "Log");
  const last = element("code", "", summary);
  const text = element("pre", "", log);

  const drawNotices = () => {
    notices.replaceChildren();
    for (const { level, text: notice } of model.get("notices")) element("div", `mosaic-notice mosaic-${level}`, notices, notice);
  };
  const drawLog = () => {
    const lines = model.get("lines");
    last.textContent = lines.at(-1) ?? "";
    const atEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 4;
    text.textContent = lines.join("\n") || "nothing written yet";
    if (atEnd) text.scrollTop = text.scrollHeight;
    log.hidden = !model.get("has_log");
  };
  log.open = model.get("opened");
  log.addEventListener("toggle", () => {
    if (log.open === model.get("opened")) return;
    model.set("opened", log.open);
    model.save_changes();
  });
  model.on("change:opened", () => (log.open = model.get("opened")));
  model.on("change:notices", drawNotices);
  model.on("change:lines", drawLog);
  drawNotices();
  drawLog();
}

export default { render };
