import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { reportVisibility, watchVisibility } from '../src/widgets/common/visibility.ts';
import type { PanelTraits } from '../src/widgets/messages.ts';
import { FakeModel, provide } from './page.ts';

let entered: (entries: object[]) => void;

class FakeObserver {
  disconnected = false;

  constructor(callback: (entries: object[]) => void) {
    entered = callback;
  }

  observe(): void {}

  disconnect(): void {
    this.disconnected = true;
  }
}

describe('visibility', () => {
  let restore: () => void;
  let page: EventTarget & { hidden: boolean };
  const show = (target: object, isIntersecting: boolean) => entered([{ target, isIntersecting }]);
  const hidePage = (hidden: boolean) => {
    page.hidden = hidden;
    page.dispatchEvent(new Event('visibilitychange'));
  };

  beforeEach(() => {
    page = Object.assign(new EventTarget(), { hidden: false });
    restore = provide({
      IntersectionObserver: FakeObserver,
      document: page,
      requestAnimationFrame: () => 0,
      cancelAnimationFrame: () => {}
    });
    mock.timers.enable({ apis: ['setInterval'] });
  });

  afterEach(() => {
    mock.timers.reset();
    restore();
  });

  test('requires an element scrolled into view in a page that is not hidden', () => {
    const [one, two] = [{}, {}];
    let changes = 0;
    const visibility = watchVisibility(() => changes++);
    for (const el of [one, two]) visibility.observe(el as Element);
    assert.deepEqual(visibility.visible(), []);
    show(two, true);
    assert.deepEqual(visibility.visible(), [1]);
    hidePage(true);
    assert.deepEqual(visibility.visible(), []);
    hidePage(false);
    show(one, true);
    show(two, false);
    assert.deepEqual(visibility.visible(), [0]);
    assert.equal(changes, 5);
  });

  test('of a panel is reported at each change, every 15 s, and when the panel ends', () => {
    const panel = {};
    const model = new FakeModel<PanelTraits>({ presence: [], beat: 0 });
    const reports = () => model.get('presence').map(([, number, visible]) => [number, visible]);
    const visibility = reportVisibility(model.as, { closest: () => panel } as unknown as Element);
    show(panel, true);
    show(panel, true);
    assert.deepEqual(reports(), [[0, true]]);
    mock.timers.tick(15_000);
    assert.deepEqual(reports().at(-1), [1, true]);
    hidePage(true);
    mock.timers.tick(60_000);
    assert.deepEqual(reports().at(-1), [2, false]);
    assert.equal(visibility.visible(), false);
    visibility.end();
    assert.equal(model.saved.length, 4);
  });

  test('keeps only the last 16 reports', () => {
    const panel = {};
    const model = new FakeModel<PanelTraits>({ presence: [], beat: 0 });
    reportVisibility(model.as, { closest: () => panel } as unknown as Element);
    show(panel, true);
    mock.timers.tick(100 * 15_000);
    assert.equal(model.get('presence').length, 16);
  });
});
