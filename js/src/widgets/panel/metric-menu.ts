/** The menu of a chart's metrics: one or several. */

import { closeOnOutsideClick } from '../common/buttons.ts';
import { drawEach, element } from '../common/elements.ts';
import { type Model, onChange, send } from '../host/anywidget.ts';
import type { ControlsTraits } from '../messages.ts';

/** Keys of headings begin with a line break, which no metric's name has. */
const HEADINGS: Record<string, string> = {
  '\ncommon': 'common to all workers',
  '\nupstream': "upstream's own",
  '\nsystem': 'system'
};

interface Row {
  el: HTMLElement;
  /** Undefined for a heading. */
  box?: HTMLInputElement;
}

/** The names in groups, each below its heading; without headings if there is only one group. */
export function grouped(names: readonly string[], common: readonly string[]): string[] {
  const system = names.filter(name => name.startsWith('system/'));
  const shared = names.filter(name => common.includes(name));
  const others = names.filter(name => !shared.includes(name) && !system.includes(name));
  const groups: [string, string[]][] = [
    ['\ncommon', shared],
    ['\nupstream', others],
    ['\nsystem', system]
  ];
  const used = groups.filter(([, group]) => group.length);
  return used.flatMap(([heading, group]) => (used.length > 1 ? [heading, ...group] : group));
}

/** The selection after `name` was switched on or off; the last one cannot be switched off. */
export function choose(chosen: readonly string[], name: string, on: boolean, several: boolean): string[] {
  const others = chosen.filter(other => other !== name);
  if (on) return several ? [...others, name] : [name];
  return others.length ? others : [...chosen];
}

/** Returns a function that removes the menu. */
export function metricMenu(model: Model<ControlsTraits>, parent: Node): () => void {
  const menu = element('details', 'mosaic-menu', parent);
  const label = element('summary', 'mosaic-button', menu);
  label.title = 'Choose what the chart shows';
  const list = element('div', 'mosaic-menu-list', menu);
  const several = model.get('several');
  const makeRow = (name: string): Row => {
    const heading = HEADINGS[name];
    if (heading) return { el: element('div', 'mosaic-menu-heading', null, heading) };
    const el = element('label', 'mosaic-menu-row');
    const box = element('input', '', el);
    box.type = several ? 'checkbox' : 'radio';
    box.onchange = () => {
      if (!several) menu.open = false;
      send(model, 'chosen', choose(model.get('chosen'), name, box.checked, several));
      draw();
    };
    el.append(name);
    return { el, box };
  };
  const draw = () => {
    const chosen = model.get('chosen');
    const full = several && chosen.length >= model.get('most');
    const [first = 'metric', ...more] = chosen;
    label.textContent = more.length ? `${first} + ${more.length}` : first;
    const names = grouped(model.get('names'), model.get('common'));
    drawEach(
      list,
      names,
      name => name,
      makeRow,
      ({ box }, name) => {
        if (!box) return;
        box.checked = chosen.includes(name);
        box.disabled = full && !box.checked;
      }
    );
  };
  onChange(model, ['chosen', 'names'], draw);
  draw();
  return closeOnOutsideClick(menu);
}
