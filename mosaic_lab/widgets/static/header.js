// The top of a panel: what runs, its state and reason, progress, Stop. It also tells the kernel whether anyone
// is looking (`presence`), so that a panel nobody sees costs nothing.
const BEAT_MS = 15_000;

function reportPresence(model, el) {
  const view = Math.random().toString(36).slice(2);
  let onScreen = false;
  let beat = 0;
  let told = null;
  const report = (visible) => {
    told = visible;
    model.set("presence", { view, visible, beat: beat++ });
    model.save_changes();
  };
  const check = () => {
    const visible = onScreen && !document.hidden;
    if (visible !== told) report(visible);
  };
  const observer = new IntersectionObserver((entries) => {
    onScreen = entries.at(-1).isIntersecting;
    check();
  });
  observer.observe(el);
  document.addEventListener("visibilitychange", check);
  const timer = setInterval(() => told && report(true), BEAT_MS);
  return () => {
    clearInterval(timer);
    observer.disconnect();
    document.removeEventListener("visibilitychange", check);
    report(false);
  };
}

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
    stop.disabled = s.state === "stopping";
  };
  model.on("change:summary", draw);
  draw();
  return reportPresence(model, el);
}

export default { render };
