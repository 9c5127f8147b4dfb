/**
 * The page's side of the flow control: which messages need an acknowledgement, and up to which one everything
 * has been drawn or superseded. The kernel limits the messages in flight and, while none is acknowledged, sends
 * one a second. The connection to a silent kernel is reopened (`connection.ts`), so the stream cannot stall.
 */
export class Credit {
  private last = 0;
  private requested: number[] = [];

  /** A new connection: its messages are numbered from the beginning. */
  reset(): void {
    this.last = 0;
    this.requested = [];
  }

  received(id: number, acknowledge: boolean): void {
    this.last = id;
    if (acknowledge) this.requested.push(id);
  }

  /** The message to acknowledge now, null for none; `oldest` is the first with frames still to draw. */
  due(oldest: number): number | null {
    const done = Math.min(this.last, oldest - 1);
    const [first] = this.requested;
    if (first === undefined || first > done) return null;
    this.requested = this.requested.filter(id => id > done);
    return done;
  }
}
