/** The one table of the page: of the operators of an evaluation, and of the episodes of a comparison. */

import { element, setTextOrHide, swatch } from './elements.ts';

export interface Column {
  title: string;
  /** Aligned to the right. */
  numeric: boolean;
}

export interface Cell {
  text: string;
  /** Put before the text as a swatch. */
  color?: string;
  hint?: string;
}

export class Table {
  private readonly el: HTMLElement;
  private readonly caption: HTMLElement;
  private readonly head: HTMLElement;
  private readonly body: HTMLElement;

  constructor(el: HTMLElement) {
    this.el = el;
    el.classList.add('mosaic-episodes');
    const table = element('table', '', el);
    this.caption = element('caption', '', table);
    this.head = element('tr', '', element('thead', '', table));
    this.body = element('tbody', '', table);
  }

  /** Show these rows, of one cell for each column; nothing without rows. */
  draw(columns: readonly Column[], rows: readonly (readonly Cell[])[], caption = ''): void {
    this.el.hidden = rows.length === 0;
    setTextOrHide(this.caption, caption);
    this.head.replaceChildren(
      ...columns.map(({ title, numeric }) => {
        const cell = element('th', alignment(numeric), null, title);
        cell.scope = 'col';
        return cell;
      })
    );
    this.body.replaceChildren(
      ...rows.map(cells => {
        const row = element('tr', '');
        cells.forEach(({ text, color, hint }, i) => {
          const cell = element('td', alignment(columns[i]?.numeric ?? false), row);
          if (color) swatch(cell, color);
          cell.append(text);
          if (hint) cell.title = hint;
        });
        return row;
      })
    );
  }
}

function alignment(numeric: boolean): string {
  return numeric ? 'mosaic-numeric' : '';
}
