/** Finds the runs shown by a cell's outputs, from the kernel's metadata. */

const METADATA = 'mosaic_lab';

/**
 * The ids of the runs in the last panel among these outputs; empty without a panel of runs.
 *
 * A notebook may come from an untrusted source: values that are not lists of names are ignored.
 */
export function runsShown(outputs: Iterable<Readonly<Record<string, unknown>>>): string[] {
  let runs: string[] = [];
  for (const metadata of outputs) {
    const about = metadata[METADATA] as { shows?: { runs?: unknown } } | undefined;
    const names = about?.shows?.runs;
    if (Array.isArray(names) && names.length && names.every(name => typeof name === 'string')) {
      runs = names;
    }
  }
  return runs;
}
