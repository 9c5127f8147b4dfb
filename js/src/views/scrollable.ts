/** The attributes of a scrollable part reachable by keyboard, whose arrow keys do not reach the notebook. */
export function scrollable(label: string) {
  return { tabIndex: 0, role: 'region', 'aria-label': label, 'data-lm-suppress-shortcuts': 'true' } as const;
}
