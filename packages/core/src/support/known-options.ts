import { ValueError } from './errors.js';

/** The valid names of an options object. Made once, when its module is loaded. */
export interface KnownOptions {
  /** The function or class that takes the options, such as `RingAllReduce`. */
  readonly owner: string;
  /** All names, including optional ones. */
  readonly names: ReadonlySet<string>;
}

/** The names of `Options`. The compiler checks that all of them are listed, and no others. */
// @__NO_SIDE_EFFECTS__
export function knownOptions<Options extends object>(
  owner: string,
  names: { readonly [Name in keyof Options]-?: true },
): KnownOptions {
  return { owner, names: new Set(Object.keys(names)) };
}

/**
 * Checks the names in an options object, and returns their number. Inherited names and names whose
 * value is undefined are checked, and counted, too.
 * @throws ValueError for an unknown name; the message suggests the nearest known name, or lists all
 * names if none is near
 */
export function requireKnownOptions(options: object, known: KnownOptions): number {
  let count = 0;
  for (const name in options) {
    if (!known.names.has(name)) throw unknownOption(name, known);
    count++;
  }
  return count;
}

function unknownOption(name: string, { owner, names }: KnownOptions): ValueError {
  const nearest = nearestName(name, names);
  const advice =
    nearest === undefined ? `known options: ${[...names].join(', ') || 'none'}` : `did you mean ${nearest}?`;
  return new ValueError('ERR_COLL_VALUE', `${owner}: unknown option ${quoteName(name)}; ${advice}`);
}

function quoteName(name: string): string {
  return JSON.stringify(name.length > 60 ? `${name.slice(0, 57)}...` : name);
}

/**
 * The name that a user probably meant: it may differ from the given name in style (`snake_case`),
 * contain it or be contained in it, or differ by typos in up to a third of the letters.
 */
function nearestName(given: string, names: ReadonlySet<string>): string | undefined {
  const plain = plainName(given);
  const most = Math.max(1, Math.floor(plain.length / 3));
  let nearest: string | undefined;
  let least = most + 1;
  for (const name of names) {
    const other = plainName(name);
    const distance = isPart(plain, other)
      ? 1 - Math.min(plain.length, other.length) / Math.max(plain.length, other.length)
      : editDistance(plain, other, least);
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

/**
 * Whether one name contains the other, like `timeout` in `timeoutSeconds`. Names of up to two
 * letters are ignored, because too many names contain them.
 */
function isPart(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return short.length > 2 && long.includes(short);
}

/**
 * The name without separators and case: `timeout_seconds` and `TimeoutSeconds` become
 * `timeoutseconds`.
 */
function plainName(name: string): string {
  return name.replaceAll(/[_-]/g, '').toLowerCase();
}

/**
 * Number of insertions, deletions, replacements and swaps of neighbouring letters that turn one
 * name into the other, at most `limit`.
 */
function editDistance(one: string, other: string, limit: number): number {
  if (Math.abs(one.length - other.length) >= limit) return limit;
  let [before, last] = [[] as number[], Array.from({ length: other.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= one.length; row++) {
    const next = [row];
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      let distance = Math.min(
        (last[column] as number) + 1,
        (next[column - 1] as number) + 1,
        (last[column - 1] as number) + (isSame ? 0 : 1),
      );
      if (row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1])
        distance = Math.min(distance, (before[column - 2] as number) + 1);
      next.push(distance);
    }
    [before, last] = [last, next];
  }
  return last[other.length] as number;
}
