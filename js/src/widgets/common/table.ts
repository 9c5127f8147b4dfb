/** The table used for operators, episodes of a comparison and trials of a sweep. */

import { element, setTextOrHide, swatch } from './elements.ts';

export interface Column {
  title: string;
  /** Aligned to the right. */
  numeric: boolean;
  /** The sort order of the rows by this column; omitted if they cannot be sorted. */
  sort?: 'ascending' | 'descending' | 'none';
}

export interface Cell {
  text: string;
  /** Shown as a swatch before the text. */
  color?: string;
  hint?: string;
}

export class Table {
  /** Called when the title of a sortable column was clicked. */
  onSort: (column: number) => void = () => {};
  private readonly el: HTMLElement;
  private readonly caption: HTMLElement;
  private readonly head: HTMLElement;
  private readonly body: HTMLElement;
  /** The displayed rows, by their content. */
  private drawn = new Map<string, HTMLElement[]>();

  constructor(el: HTMLElement) {
    this.el = el;
    el.classList.add('mosaic-episodes');
    const table = element('table', '', el);
    this.caption = element('caption', '', table);
    this.head = element('tr', '', element('thead', '', table));
    this.body = element('tbody', '', table);
  }

  /** Show these rows, with a cell for each column; nothing without rows. */
  draw(columns: readonly Column[], rows: readonly (readonly Cell[])[], caption = ''): void {
    this.el.hidden = rows.length === 0;
    setTextOrHide(this.caption, caption);
    this.head.replaceChildren(
      ...columns.map(({ title, numeric, sort }, i) => {
        const cell = element('th', alignment(numeric), null, sort ? '' : title);
        cell.scope = 'col';
        if (sort) {
          cell.ariaSort = sort;
          const button = element('button', 'mosaic-sort', cell, title);
          button.type = 'button';
          button.addEventListener('click', () => this.onSort(i));
        }
        return cell;
      })
    );
    this.place(columns, rows);
  }

  /** Put the rows in place and keep existing ones: an update changes few of hundreds. */
  private place(columns: readonly Column[], rows: readonly (readonly Cell[])[]): void {
    const drawn = new Map<string, HTMLElement[]>();
    let at = this.body.firstChild;
    for (const cells of rows) {
      const key = JSON.stringify([cells, columns.map(({ numeric }) => numeric)]);
      const row = this.drawn.get(key)?.pop() ?? rowOf(columns, cells);
      drawn.set(key, [...(drawn.get(key) ?? []), row]);
      if (row === at) {
        at = at.nextSibling;
      } else {
        this.body.insertBefore(row, at);
      }
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
    this.drawn = drawn;
  }
}

function rowOf(columns: readonly Column[], cells: readonly Cell[]): HTMLElement {
  const row = element('tr', '');
  cells.forEach(({ text, color, hint }, i) => {
    const cell = element('td', alignment(columns[i]?.numeric ?? false), row);
    if (color) swatch(cell, color);
    cell.append(text);
    if (hint) cell.title = hint;
  });
  return row;
}

function alignment(numeric: boolean): string {
  return numeric ? 'mosaic-numeric' : '';
}
