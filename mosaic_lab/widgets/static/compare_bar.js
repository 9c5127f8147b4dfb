// The tool bar of a comparison. Everything it does is a method of the comparison in the kernel.
const BAR_ICONS = { run: "M4.5 3l8 5-8 5z", pause: "M5.5 3v10M10.5 3v10" };
const SAID_MS = 15_000;

// The place of the value that is closest to `wanted`; 0 stands for no limit.
function nearest(values, wanted) {
  const far = (value) => (value ? Math.abs(value - wanted) : Infinity);
  return values.reduce((best, value, i) => (far(value) < far(values[best]) ? i : best), 0);
}

// `call(name, arguments)` asks the kernel, `resize(size)` the cards. Returns `draw(state)`, `drawSize(size)` and `say(text, error)`.
function compareBar(parent, model, call, resize) {
  const bar = element("div", "mosaic-bar mosaic-compare-bar", parent);
  element("span", "mosaic-title", bar, model.get("title")).title = model.get("title");
  const buttons = element("span", "mosaic-bar-group", bar);
  const step = button(buttons, "Step all", "One step of every lane", () => call("step"));
  const run = button(buttons, "", "", () => (run.dataset.mode === "playing" ? call("pause") : call("play", { speed: model.get("speed") })));
  const reset = button(buttons, "Reset", "Begin the episode anew, on the seed in the box", () => begin());
  const next = button(buttons, "Next seed", "Begin an episode on the next seed of the list", () => call("next_seed"));

  const speeds = model.get("speeds");
  const pace = element("label", "mosaic-smoothing", bar, "Speed");
  pace.title = "Steps a second";
  const slider = element("input", "", pace);
  Object.assign(slider, { type: "range", min: 0, max: speeds.length - 1, step: 1 });
  slider.setAttribute("aria-label", "Steps a second");
  keepsKeys(slider);
  const told = element("output", "", pace);
  slider.oninput = () => {
    model.set("speed", speeds[slider.value]);
    model.save_changes();
    if (run.dataset.mode === "playing") call("play", { speed: model.get("speed") });
  };
  const drawSpeed = () => {
    const speed = model.get("speed");
    slider.value = speed ? nearest(speeds, speed) : speeds.indexOf(0);
    told.textContent = speed ? `${speed}/s` : "max";
    slider.setAttribute("aria-valuetext", speed ? `${speed} steps a second` : "as fast as possible");
  };
  model.on("change:speed", drawSpeed);

  const seeds = element("span", "mosaic-bar-group", bar);
  const label = element("label", "mosaic-smoothing", seeds, "Seed");
  const box = element("input", "mosaic-number", label);
  Object.assign(box, { type: "number", min: 0, max: 2 ** 32 - 1, step: 1 });
  box.title = "Enter begins an episode on this seed";
  keepsKeys(box);
  box.onkeydown = (event) => event.key === "Enter" && begin();
  const list = element("select", "mosaic-button", seeds);
  list.setAttribute("aria-label", "Seeds of the list");
  keepsKeys(list);
  list.title = "Begin an episode on a seed of the list";
  list.onchange = () => list.value !== "" && call("reset", { seed: Number(list.value) });
  const begin = () => {
    if (box.checkValidity()) call("reset", { seed: box.value === "" ? null : Number(box.value) });
    else say(`A seed is a whole number from 0 to ${box.max}; the lanes are still on seed ${seed}.`, true);
  };

  const drawSize = sizeButtons(bar, resize);
  const stop = button(bar, "End comparison", "End all lanes and their processes; results and last frames stay", () => call("stop"), "mosaic-stop");
  const said = element("div", "mosaic-notice", parent);
  said.setAttribute("role", "status");
  said.hidden = true;
  let timer, seed, listed;
  const say = (text, error = false) => {
    clearTimeout(timer);
    said.textContent = text;
    said.hidden = text === "";
    said.className = `mosaic-notice mosaic-${error ? "error" : "info"}`;
    timer = setTimeout(() => (said.hidden = true), SAID_MS);
  };
  const draw = (state) => {
    const closed = state.mode === "closed";
    const playing = state.mode === "playing";
    if (run.dataset.mode !== state.mode) {
      run.dataset.mode = state.mode;
      run.replaceChildren(playing ? "Pause" : "Run");
      icon(run, BAR_ICONS[playing ? "pause" : "run"]);
      run.title = playing ? "Begin no further step" : "Step all lanes until every one has finished";
    }
    run.disabled = closed || !(playing || state.can_step);
    step.disabled = closed || !state.can_step;
    for (const node of [reset, next, box, list, stop]) node.disabled = closed;
    if (seed !== state.seed) box.value = seed = state.seed;
    const known = state.seeds.join();
    if (listed !== known) {
      listed = known;
      list.replaceChildren();
      element("option", "", list, "seeds").value = "";
      for (const one of state.seeds) element("option", "", list, String(one)).value = one;
    }
    list.value = state.seeds.includes(state.seed) ? state.seed : "";
    list.hidden = state.seeds.length < 2;
    stop.textContent = closed ? "Ended" : "End comparison";
  };
  drawSpeed();
  drawSize("medium");
  return { draw, drawSize, say, bar };
}
