/**
 * The page's side of the flow control: which messages the kernel wants acknowledged, and up to which one everything has been
 * drawn or overtaken. The kernel has a bounded number of messages in flight; it requests a lost acknowledgement again
 * (`ping`), and a silent kernel is connected to again (`connection.ts`), so nothing stays stuck.
 */
export class Credit {
  private last = 0;
  private requested: number[] = [];

  /** A new connection: its messages are counted from the beginning. */
  reset(): void {
    this.last = 0;
    this.requested = [];
  }

  received(id: number, acknowledge: boolean): void {
    this.last = id;
    if (acknowledge) this.requested.push(id);
  }

  /**
   * The message to acknowledge now, null for none. `oldest`: the first message of which something is still to be drawn,
   * infinite when there is none.
   */
  due(oldest: number): number | null {
    const done = Math.min(this.last, oldest - 1);
    const [first] = this.requested;
    if (first === undefined || first > done) return null;
    this.requested = this.requested.filter(id => id > done);
    return done;
  }
}
