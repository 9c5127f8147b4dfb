/** Which runs the outputs of a cell show, by the metadata that the kernel gave them. */

const METADATA = 'mosaic_lab';

/**
 * The ids of the runs that the last panel among these outputs shows; none when there is no panel of runs.
 *
 * A notebook may come from anywhere: what is no list of names is ignored.
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
