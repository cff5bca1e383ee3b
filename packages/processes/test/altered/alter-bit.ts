import type { OpenProcessGroupOptions } from '../../src/index.js';
import { endsOver, problemsOf } from '../attacked-group.ts';
import { AttackedNetwork, clearPurposes, purposes } from '../attacked-network.ts';
import { ownAddress } from '../distant-store.ts';
import { Random } from '../faults/random.ts';

/** What became of a group of two ranks after one bit was changed on one of its connections. */
export interface Alteration {
  readonly seed: number;
  readonly outcome: 'not reached' | 'no effect' | 'error on one rank' | 'error on both ranks';
  /** What must not be. */
  readonly problems: readonly string[];
}

/** Connections that notice changed bits. */
export interface AlteredLinks {
  /** The purposes of connections, as the network says them. */
  readonly purposes: readonly string[];
  /** The options of the group, apart from those of `endsOver`. */
  readonly options?: Partial<OpenProcessGroupOptions>;
  /** The address of this machine where ranks listen. Default: that of loopback. */
  readonly host?: string | undefined;
}

const encrypted: AlteredLinks = { purposes: Object.values(purposes) };

/** Those of members that are not on the same host. */
export const checksummed: AlteredLinks = {
  purposes: Object.values(clearPurposes),
  options: { encrypt: 'between-hosts', insecure: true },
  host: ownAddress,
};

// Beyond the handshakes, and in the midst of what calls and messages exchange.
const mostBytes = 2000;

/** A bit of what an end of a connection sends: the higher rank, which connects, is end 0. */
export interface Place {
  readonly purpose: string;
  readonly end: 0 | 1;
  /** The number of the byte, from 0, and a byte in which only the bit is set. */
  readonly at: number;
  readonly bit: number;
}

/** Changes a bit of the first connection for the purpose that gets as far. */
export function changeOnce(network: AttackedNetwork, { purpose, end, at, bit }: Place): { readonly isMade: boolean } {
  const change = { isMade: false };
  network.attack = (tapped, from, part) => {
    const place = at - tapped.said[from].length;
    if (change.isMade || tapped.purpose !== purpose || from !== end || place < 0 || place >= part.length) return part;
    change.isMade = true;
    const changed = Buffer.from(part);
    changed[place] = (changed[place] as number) ^ bit;
    return changed;
  };
  return change;
}

/** Opens a group whose bit is changed: the seed says which one, of which end of which connection. */
export async function alterBit(seed: number, links = encrypted): Promise<Alteration> {
  const random = new Random(seed);
  const network = new AttackedNetwork(links.host);
  const purpose = links.purposes[seed % links.purposes.length] as string;
  const end = random.below(2) as 0 | 1;
  const change = changeOnce(network, { purpose, end, at: random.below(mostBytes), bit: 1 << random.below(8) });
  const ends = await endsOver(network, links.options);
  const errors = ends.filter(({ error }) => error !== undefined).length;
  const reached = errors === 0 ? 'no effect' : errors === 1 ? 'error on one rank' : 'error on both ranks';
  return { seed, outcome: change.isMade ? reached : 'not reached', problems: problemsOf(ends) };
}
