/**
 * A chess board of squares over a lane's picture, white at the bottom. A player moves by clicking the piece
 * and its target square, or with arrow keys and Enter.
 */

import { button } from '../common/buttons.ts';
import { element } from '../common/elements.ts';
import { suppressShortcuts } from '../host/kernel.ts';
import { FILES, movesFrom, neighbour, pieceName, piecesOf, promotionsOf, targetOf } from './chess.ts';
import type { Pad } from './pad.ts';

const ARROWS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1]
};

export class Board {
  readonly el = element('div', 'mosaic-board');
  private readonly squares = new Map<string, HTMLElement>();
  private readonly promotion: HTMLElement;
  private pad: Pad | null = null;
  /** The square of the selected piece. */
  private from: string | null = null;
  /** The last position answered. */
  private played: string | null = null;
  private moves: string[] = [];
  private pieces = new Map<string, string>();
  /** The square reached by Tab; arrow keys continue from it. */
  private current = 'e2';

  constructor() {
    this.el.setAttribute('role', 'grid');
    for (let rank = 8; rank >= 1; rank--) {
      const row = element('div', 'mosaic-board-row', this.el);
      row.setAttribute('role', 'row');
      for (const file of FILES) this.squares.set(`${file}${rank}`, this.square(row, `${file}${rank}`));
    }
    this.promotion = element('div', 'mosaic-promotion', this.el);
    this.promotion.setAttribute('role', 'group');
    this.promotion.setAttribute('aria-label', 'promote to');
    this.promotion.hidden = true;
    this.moveTo(this.current);
    // Keys and clicks here are for the board, not for the picture below it.
    this.el.addEventListener('keydown', event => this.key(event));
    this.el.addEventListener('click', event => event.stopPropagation());
  }

  /** `pad` belongs to the player whose turn it is; null between turns. */
  draw(pad: Pad | null): void {
    this.pad = pad;
    const board = pad?.person.board ?? null;
    if (board) {
      this.el.setAttribute('aria-label', `chess board of ${pad?.person.agent}`);
      this.pieces = piecesOf(board.fen);
    }
    this.moves = board && board.fen !== this.played ? board.moves : [];
    if (!movesFrom(this.moves, this.from).length) this.choose(null);
    else this.paint();
  }

  /** The player's move could not be played. */
  refuse(): void {
    this.played = null;
  }

  focus(): void {
    this.squares.get(this.current)?.focus({ preventScroll: true });
  }

  private square(row: Node, name: string): HTMLElement {
    const node = button(row, '', '', () => this.click(name), 'mosaic-square');
    node.dataset.square = name;
    node.setAttribute('role', 'gridcell');
    node.tabIndex = -1;
    node.onfocus = () => this.moveTo(name);
    suppressShortcuts(node);
    return node;
  }

  private click(name: string): void {
    this.moveTo(name);
    const moves = movesFrom(this.moves, this.from).filter(move => targetOf(move) === name);
    if (moves.length > 1) this.promote(moves);
    else if (moves[0]) this.play(moves[0]);
    else this.choose(name !== this.from && movesFrom(this.moves, name).length ? name : null);
  }

  private choose(name: string | null): void {
    this.from = name;
    this.promotion.hidden = true;
    this.paint();
  }

  private promote(moves: string[]): void {
    const nodes = promotionsOf(moves).map(([piece, move]) => {
      const node = button(null, piece, `promote to a ${piece}`, () => this.play(move));
      suppressShortcuts(node);
      return node;
    });
    this.promotion.replaceChildren(...nodes);
    this.promotion.hidden = false;
    nodes[0]?.focus({ preventScroll: true });
  }

  private play(move: string): void {
    this.played = this.pad?.person.board?.fen ?? null;
    this.moves = [];
    this.choose(null);
    this.focus();
    this.pad?.play(move);
  }

  private moveTo(name: string): void {
    for (const [square, tabIndex] of [
      [this.current, -1],
      [name, 0]
    ] as const) {
      const node = this.squares.get(square);
      if (node) node.tabIndex = tabIndex;
    }
    this.current = name;
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.altKey || event.metaKey || event.key === 'Tab') return;
    event.stopPropagation();
    if (event.key === 'Escape') {
      if (this.from === null) (document.activeElement as HTMLElement | null)?.blur();
      this.choose(null);
    }
    const arrow = ARROWS[event.key];
    if (!arrow || !this.promotion.hidden) return;
    event.preventDefault();
    this.moveTo(neighbour(this.current, arrow) ?? this.current);
    this.focus();
  }

  private paint(): void {
    const targets = new Set(movesFrom(this.moves, this.from).map(targetOf));
    const movable = new Set(this.moves.map(move => move.slice(0, 2)));
    for (const [name, node] of this.squares) {
      const piece = this.pieces.get(name);
      const legal = targets.has(name);
      node.classList.toggle('mosaic-movable', movable.has(name));
      node.classList.toggle('mosaic-target', legal);
      node.classList.toggle('mosaic-taken', piece !== undefined);
      node.setAttribute('aria-selected', String(name === this.from));
      node.setAttribute('aria-label', `${name} ${pieceName(piece)}${legal ? ', legal' : ''}`);
    }
  }
}
