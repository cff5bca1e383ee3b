import { endsOver, problemsOf } from '../attacked-group.ts';
import { AttackedNetwork, purposes } from '../attacked-network.ts';
import { Random } from '../faults/random.ts';

/** What became of a group of two ranks after one bit was changed on one of its encrypted connections. */
export interface Alteration {
  readonly seed: number;
  readonly outcome: 'not reached' | 'no effect' | 'error on one rank' | 'error on both ranks';
  /** What must not be. */
  readonly problems: readonly string[];
}

// Beyond the handshakes, and in the midst of what calls and messages exchange.
const mostBytes = 2000;

/** Opens a group whose bit is changed: the seed says which one, of which end of which connection. */
export async function alterBit(seed: number): Promise<Alteration> {
  const random = new Random(seed);
  const network = new AttackedNetwork();
  const places = Object.values(purposes);
  const purpose = places[seed % places.length] as string;
  const end = random.below(2) as 0 | 1;
  const at = random.below(mostBytes);
  const bit = 1 << random.below(8);
  let isMade = false;
  network.attack = (tapped, from, part) => {
    const place = at - tapped.said[from].length;
    if (isMade || tapped.purpose !== purpose || from !== end || place < 0 || place >= part.length) return part;
    isMade = true;
    const changed = Buffer.from(part);
    changed[place] = (changed[place] as number) ^ bit;
    return changed;
  };
  const ends = await endsOver(network);
  const errors = ends.filter(({ error }) => error !== undefined).length;
  const reached = errors === 0 ? 'no effect' : errors === 1 ? 'error on one rank' : 'error on both ranks';
  return { seed, outcome: isMade ? reached : 'not reached', problems: problemsOf(ends) };
}
