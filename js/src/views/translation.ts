/** The part of JupyterLab's translation bundles used by views; without JupyterLab, English. */

export interface Translation {
  __(text: string, ...values: unknown[]): string;
  _n(one: string, many: string, count: number, ...values: unknown[]): string;
}

function filled(text: string, values: readonly unknown[]): string {
  return text.replace(/%(\d+)/g, (match, place) => String(values[Number(place) - 1] ?? match));
}

export const english: Translation = {
  __: (text, ...values) => filled(text, values),
  _n: (one, many, count, ...values) => filled(count === 1 ? one : many, [count, ...values])
};
