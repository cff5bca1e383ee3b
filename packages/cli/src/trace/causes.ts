import { type Condition, firstFailure, lastSign, lateness, pulse } from './condition.js';
import type { Node } from './group-records.js';
import { type Edge, longWait, ownFailure, type WaitGraph } from './wait-graph.js';

/** Where the ways along the edges of a wait graph end. */
export interface Causes {
  /** The nodes that others wait for, and that wait for nobody, if something says that they are to blame. */
  readonly guilty: readonly Node[];
  /** Nodes that wait for each other, if nothing else ends the ways. */
  readonly cycle: readonly Node[];
  /** Ranks at ends that have no record. */
  readonly missing: readonly number[];
  /** All edges on the ways. */
  readonly edges: readonly Edge[];
}

/** Ends closer together may have one reason: records contain a sign of life each second. In microseconds. */
const together = 2e6;

/**
 * Follows the edges of a wait graph from nodes that wait or have failed.
 * @param ignoresEnds whether the end of a process is not a reason to wait for it
 */
export function findCauses(graph: WaitGraph, starts: readonly Node[], ignoresEnds = false): Causes {
  const votes = new Map<Node, number>();
  const missing = new Set<number>();
  const endless = new Set<Node>();
  const into = new Map<Node, Set<Edge>>();
  const edges = new Set<Edge>();
  for (const start of starts.slice(0, mostStarts)) {
    const way = wayFrom(graph, start, ignoresEnds);
    for (const node of way.ends) votes.set(node, (votes.get(node) ?? 0) + 1);
    for (const edge of way.edges) {
      edges.add(edge);
      if (edge.to) into.set(edge.to, (into.get(edge.to) ?? new Set()).add(edge));
      else missing.add(edge.rank);
    }
    if (way.ends.length === 0) for (const node of way.visited) endless.add(node);
  }
  const most = Math.max(...votes.values());
  const ends = [...votes].filter(([, count]) => count === most).map(([node]) => node);
  const plausible = ends.filter((node) => isPlausible(graph, node, [...(into.get(node) ?? [])]));
  return {
    guilty: likeliest(graph, plausible),
    cycle: onCycles(endless, edges),
    missing: [...missing].sort((a, b) => a - b),
    edges: [...edges],
  };
}

/** As many nodes say enough. */
const mostStarts = 64;

function wayFrom(graph: WaitGraph, start: Node, ignoresEnds: boolean) {
  const visited = new Set<Node>([start]);
  const ends: Node[] = [];
  const edges: Edge[] = [];
  for (const node of visited) {
    const further = edgesFrom(graph, node, ignoresEnds);
    if (further.length === 0) ends.push(node);
    for (const edge of further) {
      edges.push(edge);
      if (edge.to) visited.add(edge.to);
    }
  }
  return { ends, edges, visited };
}

/** The nodes that others of them wait for. A node that none of the others waits for is only on the way to a cycle. */
function onCycles(nodes: ReadonlySet<Node>, edges: ReadonlySet<Edge>): readonly Node[] {
  const waiters = new Map([...nodes].map((node) => [node, new Set<Node>()]));
  for (const { from, to } of edges) if (to && nodes.has(from.node)) waiters.get(to)?.add(from.node);
  for (let hasChanged = true; hasChanged; ) {
    hasChanged = false;
    for (const [node, of] of waiters) {
      if (of.size > 0) continue;
      waiters.delete(node);
      for (const others of waiters.values()) others.delete(node);
      hasChanged = true;
    }
  }
  return [...waiters.keys()];
}

/** The edges from a node that say why it has not gone on. What a node waited for that has ended by itself is mostly no reason. */
function edgesFrom({ conditions, edges }: WaitGraph, node: Node, ignoresEnds: boolean): readonly Edge[] {
  if (ownFailure(node)) return [];
  const all = edges.get(node) ?? [];
  const { kind } = conditions.get(node) as Condition;
  if (firstFailure(node) !== undefined || ignoresEnds || !over.has(kind)) return all;
  if (kind === 'ended') return [];
  return all.filter((edge) => hasHungBefore(node, edge, conditions));
}

const over: ReadonlySet<Condition['kind']> = new Set(['ended', 'killed', 'stopped', 'silent']);

/** Whether a node that was killed had waited long before, or for one that had already ended. */
function hasHungBefore(node: Node, { to, call, isNever }: Edge, conditions: WaitGraph['conditions']): boolean {
  if (!call || call.begun === 0 || (to && firstFailure(to) !== undefined)) return false;
  const last = lastSign(node);
  if (isNever && last - call.begun - node.seen.offset > longWait) return true;
  if (!to) return false;
  const { kind } = conditions.get(to) as Condition;
  return kind === 'ended' || (over.has(kind) && lastSign(to) < last - pulse);
}

function isPlausible({ conditions }: WaitGraph, node: Node, into: readonly Edge[]): boolean {
  if (ownFailure(node)) return true;
  // It has not made the call, whatever it did instead.
  if (into.some(({ call, isInside, note }) => call && !isInside && !note)) return true;
  if (firstFailure(node) !== undefined) return false;
  const { kind } = conditions.get(node) as Condition;
  if (kind !== 'running') return into.length > 0;
  return into.some((edge) => isClosedBy(edge)) || isLost(node, into);
}

/** Whether others have lost a rank of another host, whose record shows nothing afterwards. */
export function isLost(node: Node, into: readonly Edge[]): boolean {
  if (node.seen.process !== 'unknown' || node.seen.record.end !== 'open') return false;
  const last = lastSign(node);
  return into.some(({ note, from }) => note && note.time + from.node.seen.offset > last - lateness);
}

/** Whether the node that an edge leads to has closed the group. */
export function isClosedBy({ to, from }: Edge): boolean {
  return to?.members.some(({ part }) => part.group === from.part.group && part.closed > 0) ?? false;
}

/** Of nodes that may all be guilty, those for which most speaks. */
function likeliest({ conditions }: WaitGraph, nodes: readonly Node[]): readonly Node[] {
  const isKnown = (node: Node) => ownFailure(node) || (conditions.get(node) as Condition).kind !== 'running';
  const known = nodes.filter(isKnown);
  if (known.length === 0) return nodes;
  const lasting = known.filter((node) =>
    ['busy', 'blocked', 'stopped'].includes((conditions.get(node) as Condition).kind),
  );
  if (lasting.length > 0) return lasting;
  const first = Math.min(...known.map(lastSign));
  return known.filter((node) => lastSign(node) - first < together);
}
