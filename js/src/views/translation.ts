/** The translation of the extension's texts: JupyterLab's, if there is one. Widgets in cells are in English. */

interface Translation {
  __(text: string, ...values: unknown[]): string;
  _n(singular: string, many: string, count: number, ...values: unknown[]): string;
}

function filled(text: string, values: readonly unknown[]): string {
  return text.replace(/%(\d+)/g, (match, number) => String(values[Number(number) - 1] ?? match));
}

let current: Translation = {
  __: (text, ...values) => filled(text, values),
  _n: (singular, many, count, ...values) => filled(count === 1 ? singular : many, [count, ...values])
};

/** Translate all texts with `bundle` from now on. */
export function setTranslation(bundle: Translation): void {
  current = bundle;
}

export const trans: Translation = {
  __: (text, ...values) => current.__(text, ...values),
  _n: (singular, many, count, ...values) => current._n(singular, many, count, ...values)
};
