/** Stand-ins for the browser APIs that the code under test uses. */

import type { Model } from '../src/widgets/host/anywidget.ts';

/** A model that keeps its traits in memory and records what is saved. */
export class FakeModel<Traits extends object> {
  saved: Partial<Traits>[] = [];
  private readonly traits: Traits;
  private readonly listeners = new Map<string, (() => void)[]>();
  private unsaved: Partial<Traits> = {};

  constructor(traits: Traits) {
    this.traits = traits;
  }

  get as(): Model<Traits> {
    return this as unknown as Model<Traits>;
  }

  get<Name extends keyof Traits>(name: Name): Traits[Name] {
    return this.traits[name];
  }

  set<Name extends keyof Traits>(name: Name, value: Traits[Name]): void {
    this.traits[name] = value;
    this.unsaved[name] = value;
  }

  save_changes(): void {
    this.saved.push(this.unsaved);
    this.unsaved = {};
  }

  on(event: string, listener: () => void): void {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
  }

  /** Simulate a new value from the kernel. */
  receive<Name extends keyof Traits>(name: Name, value: Traits[Name]): void {
    this.traits[name] = value;
    for (const listener of this.listeners.get(`change:${String(name)}`) ?? []) listener();
  }
}

/** An event target that remembers whether it has the focus. */
export class FakeElement extends EventTarget {
  focused = false;

  focus(): void {
    this.focused = true;
  }

  blur(): void {
    this.focused = false;
    this.dispatchEvent(new Event('blur'));
  }
}

export function keyEvent(type: 'keydown' | 'keyup', key: string, more: object = {}): Event {
  return Object.assign(new Event(type, { cancelable: true }), { key, repeat: false, ...more });
}

/** Define globals for a test; returns a function that restores the previous ones. */
export function provide(names: Record<string, unknown>): () => void {
  const before = Object.keys(names).map(name => Object.getOwnPropertyDescriptor(globalThis, name));
  for (const [name, value] of Object.entries(names)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  return () => {
    Object.keys(names).forEach((name, i) => {
      const descriptor = before[i];
      if (descriptor) Object.defineProperty(globalThis, name, descriptor);
      else Reflect.deleteProperty(globalThis, name);
    });
  };
}

/** A kernel's comm that records the page's messages. */
export class FakeComm<Sent = unknown> {
  isDisposed = false;
  readonly opened: unknown[] = [];
  readonly sent: Sent[] = [];
  onMsg: (message: object) => void = () => {};
  onClose = () => {};

  open(data: unknown): object {
    this.opened.push(data);
    return {};
  }

  send(data: Sent): object {
    this.sent.push(data);
    return { dispose: () => {} };
  }

  close(): object {
    this.isDisposed = true;
    return {};
  }

  dispose(): void {
    this.isDisposed = true;
  }

  /** Simulate a message from the kernel. */
  say(data: object, buffers: readonly ArrayBufferView[] = []): void {
    this.onMsg({ content: { data }, buffers });
  }
}
