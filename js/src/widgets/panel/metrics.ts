/** The groups and the selection of a chart's metrics. */

interface MetricGroup {
  /** Empty if there is only one group. */
  readonly heading: string;
  readonly names: readonly string[];
}

export function grouped(names: readonly string[], common: readonly string[]): MetricGroup[] {
  const system = names.filter(name => name.startsWith('system/'));
  const shared = names.filter(name => common.includes(name));
  const otherNames = names.filter(name => !shared.includes(name) && !system.includes(name));
  const groups = [
    { heading: 'common to all workers', names: shared },
    { heading: 'specific to this library', names: otherNames },
    { heading: 'system', names: system }
  ].filter(group => group.names.length);
  return groups.length > 1 ? groups : groups.map(group => ({ ...group, heading: '' }));
}

/** The selection after `name` was switched on or off; the last one cannot be switched off. */
export function choose(chosen: readonly string[], name: string, on: boolean, several: boolean): string[] {
  const otherChosen = chosen.filter(other => other !== name);
  if (on) return several ? [...otherChosen, name] : [name];
  return otherChosen.length ? otherChosen : [...chosen];
}
