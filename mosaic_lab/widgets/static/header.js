// The top of a panel: what runs, its state and reason, progress, Stop. It also tells the kernel whether anyone
// is looking (`presence`), so that a panel nobody sees costs nothing, and the user when the kernel is gone.
const BEAT_MS = 15_000;
const SILENT_SECONDS = 10;

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
  const end = () => {
    clearInterval(timer);
    observer.disconnect();
    document.removeEventListener("visibilitychange", check);
    report(false);
  };
  return { seen: () => told, end };
}

// Calls `tell(true)` when the kernel was restarted, or a live panel in sight has heard nothing of it for ten seconds,
// and `tell(false)` when it is heard again. Seconds are counted here: a computer that slept has missed none.
function watchKernel(model, el, seen, tell) {
  let silent = 0;
  const look = () => {
    const live = model.get("summary").stop !== "";
    tell(el.closest(".jupyter-widgets-disconnected") !== null || (live && silent > SILENT_SECONDS));
  };
  const timer = setInterval(() => {
    silent = seen() ? silent + 1 : 0;
    look();
  }, 1000);
  model.on("change:beat", () => {
    silent = 0;
    look();
  });
  return () => clearInterval(timer);
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
  const gone = element("div", "mosaic-notice mosaic-warning mosaic-gone", el);
  gone.hidden = true;

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
    stop.disabled = s.state === "stopping" || !gone.hidden;
    gone.textContent = `The kernel no longer answers; ${s.again}.`;
  };
  const tell = (lost) => {
    if (lost !== gone.hidden) return;
    gone.hidden = !lost;
    const panel = el.closest(".mosaic-panel");
    panel?.classList.toggle("mosaic-cut-off", lost);
    for (const controls of panel?.querySelectorAll(".mosaic-controls") ?? []) controls.inert = lost;
    draw();
  };
  model.on("change:summary", draw);
  draw();
  const presence = reportPresence(model, el);
  const unwatch = watchKernel(model, el, presence.seen, tell);
  return () => {
    unwatch();
    presence.end();
  };
}

export default { render };
