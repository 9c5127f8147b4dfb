// The top of a panel: what runs, its state and reason, progress, Stop.
const GONE = {
  silent: () => "The kernel does not answer. What is shown may be old; it goes on when the kernel answers again.",
  ended: (again) => `The kernel was restarted or shut down. This panel comes back when mosaic_lab.Lab() has run again; ${again}, too.`,
};

function render({ model, el }) {
  el.classList.add("mosaic-header");
  const top = element("div", "mosaic-row", el);
  const title = element("span", "mosaic-title", top);
  const detail = element("span", "mosaic-detail", top);
  const stop = element("button", "mosaic-stop", top);
  stop.type = "button";
  stop.onclick = () => {
    stop.disabled = true;
    model.set("stops", model.get("stops") + 1);
    model.save_changes();
  };
  const bar = element("div", "mosaic-progress", el);
  bar.setAttribute("role", "progressbar");
  const fill = element("div", "mosaic-progress-fill", bar);
  const line = element("div", "mosaic-row mosaic-facts", el);
  const chips = element("span", "mosaic-chips", line);
  const reason = element("span", "mosaic-reason", line);
  const facts = element("span", "mosaic-numbers", line);
  const gone = element("div", "mosaic-notice mosaic-warning mosaic-gone", el);
  gone.hidden = true;

  let why = "";
  const draw = () => {
    const s = model.get("summary");
    title.textContent = title.title = s.title;
    detail.textContent = detail.title = s.detail;
    chips.replaceChildren();
    for (const { state, text } of s.chips) element("span", `mosaic-chip mosaic-${state}`, chips, text);
    reason.textContent = reason.title = s.reason;
    bar.dataset.state = s.state;
    bar.classList.toggle("mosaic-unknown", s.progress === null);
    fill.style.width = s.progress === null ? "" : `${100 * s.progress}%`;
    if (s.progress === null) bar.removeAttribute("aria-valuenow");
    else bar.setAttribute("aria-valuenow", Math.round(100 * s.progress));
    facts.replaceChildren();
    for (const [value, unit] of s.facts) {
      const fact = element("span", "mosaic-fact", facts);
      element("b", "", fact, value);
      fact.append(` ${unit}`);
    }
    stop.hidden = s.stop === "";
    stop.textContent = s.stop;
    stop.disabled = s.state === "stopping" || why !== "";
    gone.textContent = GONE[why]?.(s.again) ?? "";
  };
  const tell = (reason) => {
    if (reason === why) return;
    why = reason;
    const lost = why !== "";
    gone.hidden = !lost;
    const panel = el.closest(".mosaic-panel");
    panel?.classList.toggle("mosaic-cut-off", lost);
    for (const controls of panel?.querySelectorAll(".mosaic-controls") ?? []) controls.inert = lost;
    draw();
  };
  model.on("change:summary", draw);
  draw();
  const presence = reportPresence(model, el);
  const live = () => model.get("summary").stop !== "";
  const unwatch = watchKernel(model, el, { seen: presence.seen, live }, tell);
  return () => {
    unwatch();
    presence.end();
  };
}

export default { render };
