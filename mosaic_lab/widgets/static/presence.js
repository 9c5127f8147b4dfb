// Put in front of the part of a panel that is its head. It tells the kernel whether anyone is looking (`presence`), so that
// a panel nobody sees costs nothing, and the user when the kernel is gone.
const PRESENCE_MS = 15_000;
const MOST_WORDS = 16;
const SILENT_SECONDS = 10;

function reportPresence(model, el) {
  const view = Math.random().toString(36).slice(2);
  let onScreen = false;
  let beat = 0;
  let told = null;
  const report = (visible) => {
    told = visible;
    // Of several in one message, of all views of this model, none gets lost: a later value replaces an unsent one.
    model.set("presence", [...model.get("presence"), [view, beat++, visible]].slice(-MOST_WORDS));
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
  // The whole panel counts, which this part is put into a moment later: its chart may be in sight without its top.
  let attaching;
  const observe = () => {
    const panel = el.closest(".mosaic-panel");
    if (panel) observer.observe(panel);
    else attaching = requestAnimationFrame(observe);
  };
  observe();
  document.addEventListener("visibilitychange", check);
  const timer = setInterval(() => told && report(true), PRESENCE_MS);
  const end = () => {
    clearInterval(timer);
    cancelAnimationFrame(attaching);
    observer.disconnect();
    document.removeEventListener("visibilitychange", check);
    report(false);
  };
  return { seen: () => told, end };
}

// Calls `tell(why)` with "ended" when the kernel was restarted or shut down, with "silent" while a panel in sight that is `live()`
// has heard nothing of it for ten seconds, else with "". Seconds are counted here: a computer that slept has missed none.
function watchKernel(model, el, { seen, live }, tell) {
  let silent = 0;
  const look = () => {
    const ended = el.closest(".jupyter-widgets-disconnected") !== null;
    tell(ended ? "ended" : live() && silent > SILENT_SECONDS ? "silent" : "");
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
