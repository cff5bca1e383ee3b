import { rankList } from '@coll/core/internal';
import type { GroupRecord, Node } from './group-records.js';
import type { WaitGraph } from './wait-graph.js';

/** How sentences name the threads of a job. */
export interface Naming {
  /** The group whose ranks name the threads; undefined if there is none. */
  readonly main: GroupRecord | undefined;
  readonly hosts: number;
  /** Ranks of the main group without a record. */
  readonly missing: readonly number[];
  /** The ranks of nodes in the main group, in ascending order. */
  ranks(nodes: readonly Node[]): readonly number[];
  /** The names of nodes: `rank 3 on host-b`, `ranks 2, 3`. */
  names(nodes: readonly Node[]): string;
}

/** Names threads by their ranks in the largest group that was not made by a split. */
export function namingOf({ groups, nodes }: WaitGraph): Naming {
  const [main] = groups.values();
  const hosts = new Set(nodes.map(({ seen }) => seen.record.host)).size;
  const rankOf = (node: Node) => (main && node.ranks.get(main.id)) ?? -1;
  const ranks = (of: readonly Node[]) => [...new Set(of.map(rankOf))].filter((rank) => rank >= 0).sort((a, b) => a - b);
  const names = (of: readonly Node[]) => {
    const [first] = of;
    if (!first) return 'no rank';
    const others = of.filter((node) => rankOf(node) < 0).map(otherName);
    const named = ranks(of);
    const places = new Set(of.map(({ seen }) => seen.record.host));
    const place = hosts > 1 && places.size === 1 ? ` on ${first.seen.record.host}` : '';
    return [...(named.length > 0 ? [`${rankList(named)}${place}`] : []), ...others].join(' and ');
  };
  return { main, hosts, missing: main?.missing ?? [], ranks, names };
}

/** The name of a thread without a rank in the main group. */
function otherName({ seen: { record }, ranks }: Node): string {
  const [rank] = ranks.values();
  const thread = record.thread === 0 ? 'process' : `thread ${record.thread} of process`;
  const name = `${thread} ${record.pid} on ${record.host}`;
  if (rank === undefined) return name;
  return rank < 0 ? `the ranks of ${name}` : `rank ${rank} in ${name}`;
}
