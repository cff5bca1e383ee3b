/** The most cores that a list may name. */
export const mostCores = 8192;

/** Whether a text lists cores as Linux does, such as `0-3,8`, and at most `mostCores` of them. */
export function isCoreList(text: string): boolean {
  if (text !== '' && !/^\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*$/.test(text)) return false;
  const sizes = rangesIn(text).map(([first, last]) => last - first + 1);
  return sizes.every((size) => size > 0) && sizes.reduce((sum, size) => sum + size, 0) <= mostCores;
}

/** The numbers of the cores in a valid list. */
export function coresIn(list: string): number[] {
  return rangesIn(list).flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, index) => first + index),
  );
}

/** Lists cores as Linux does: the reverse of `coresIn`. */
export function listOf(cores: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const core of cores.toSorted((a, b) => a - b)) {
    const range = ranges.at(-1);
    if (range && core <= range[1] + 1) range[1] = core;
    else ranges.push([core, core]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',');
}

function rangesIn(list: string): [first: number, last: number][] {
  if (list === '') return [];
  return list.split(',').map((part) => {
    const [first, last = first] = part.split('-').map(Number) as [number, number?];
    return [first, last];
  });
}
