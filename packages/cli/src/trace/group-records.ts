import type { Call, RecordedPart, ThreadRecord } from './record-file.js';

/** The process of a record, as the reader's machine sees it; unknown for a record of another host. */
export type ProcessState = 'running' | 'stopped' | 'gone' | 'unknown';

/** A record, and what is known about it from outside. */
export interface SeenRecord {
  readonly record: ThreadRecord;
  readonly process: ProcessState;
  /** Microseconds to add to times of the record for the times that all records have in common. */
  readonly offset: number;
  /** Until when the record says what its thread did, in common time. */
  readonly seenUntil: number;
}

/** A thread with the buffers of one rank, or of all. Its parts of groups wait for each other. */
export interface Node {
  readonly seen: SeenRecord;
  /** Its ranks by the groups that were not made by a split. */
  readonly ranks: ReadonlyMap<string, number>;
  readonly members: Member[];
}

/** A rank's part in a group, with its recorded calls. */
export interface Member {
  readonly node: Node;
  readonly part: RecordedPart;
  /** Its collectives by number. */
  readonly calls: ReadonlyMap<number, Call>;
  readonly messages: readonly Call[];
  /** Number of collectives that it has made in the group; undefined if later calls of other groups have overwritten them. */
  readonly made: number | undefined;
}

/** A group, merged from the records of its ranks. */
export interface GroupRecord {
  readonly id: string;
  readonly size: number;
  readonly parent: string;
  /** By rank. A thread with the buffers of all ranks is -1. */
  readonly members: ReadonlyMap<number, Member>;
  /** Ranks without a record, the first ones only. */
  readonly missing: readonly number[];
}

const mostMissing = 64;

/** Merges records into the groups of their ranks, and the nodes of all threads. Whole groups that are open come first, the largest before others. */
export function mergeGroups(records: readonly SeenRecord[]): {
  readonly groups: ReadonlyMap<string, GroupRecord>;
  readonly nodes: readonly Node[];
} {
  const nodes: Node[] = [];
  const found = new Map<string, Map<number, Member>>();
  for (const seen of records) {
    const ofThread = membersOf(seen);
    nodes.push(...ofThread.nodes);
    for (const member of ofThread.members) {
      const members = found.get(member.part.group) ?? new Map<number, Member>();
      // Two records of one rank: files of different runs under the same name. The later one counts.
      const other = members.get(member.part.rank);
      if (!other || other.part.opened + other.node.seen.offset < member.part.opened + seen.offset)
        members.set(member.part.rank, member);
      found.set(member.part.group, members);
    }
  }
  const groups = [...found].map(([id, members]) => groupFrom(id, members));
  groups.sort((a, b) => orderOf(a) - orderOf(b) || b.size - a.size || openedLast(b) - openedLast(a));
  return { groups: new Map(groups.map((group) => [group.id, group])), nodes };
}

function orderOf({ parent, members }: GroupRecord): number {
  if (parent !== '') return 2;
  return [...members.values()].every(({ part }) => part.closed > 0) ? 1 : 0;
}

function openedLast({ members }: GroupRecord): number {
  return Math.max(...[...members.values()].map(({ part, node }) => part.opened + node.seen.offset));
}

function groupFrom(id: string, members: ReadonlyMap<number, Member>): GroupRecord {
  const [{ part }] = members.values() as unknown as [Member];
  const missing: number[] = [];
  for (let rank = 0; rank < part.size && missing.length < mostMissing && !members.has(-1); rank++)
    if (!members.has(rank)) missing.push(rank);
  return { id, size: part.size, parent: part.parent, members, missing };
}

/** The parts of a thread in groups. */
function membersOf(seen: SeenRecord): { readonly nodes: readonly Node[]; readonly members: readonly Member[] } {
  const { record } = seen;
  const parts = new Map<string, RecordedPart>();
  for (const part of record.parts) parts.set(keyOf(part), part);
  const collected = new Map<string, { calls: Map<number, Call>; messages: Call[] }>();
  for (const key of parts.keys()) collected.set(key, { calls: new Map(), messages: [] });
  for (const call of record.calls) {
    const of = collected.get(keyOf(call.part));
    if (isMessage(call)) of?.messages.push(call);
    else of?.calls.set(call.number, call);
  }
  const roots = new Map([...parts].map(([key, part]) => [key, rootOf(part, record.parts)] as const));
  // Members in one thread are threads of their own if they are several ranks of a group.
  const ranksByRoot = new Map<string, Set<number>>();
  for (const { group, rank } of roots.values()) ranksByRoot.set(group, (ranksByRoot.get(group) ?? new Set()).add(rank));
  const isShared = [...ranksByRoot.values()].some((ranks) => ranks.size > 1);
  const nodes = new Map<number, Node & { readonly ranks: Map<string, number> }>();
  const members: Member[] = [];
  for (const [key, part] of parts) {
    const root = roots.get(key) as Root;
    const place = isShared ? root.rank : 0;
    const node = nodes.get(place) ?? { seen, ranks: new Map<string, number>(), members: [] };
    nodes.set(place, node);
    node.ranks.set(root.group, root.rank);
    const { calls, messages } = collected.get(key) as { calls: Map<number, Call>; messages: Call[] };
    const member = { node, part, calls, messages, made: madeOf(calls, record) };
    node.members.push(member);
    members.push(member);
  }
  // A thread without a group has no rank, but may be the one that all others wait for.
  if (nodes.size === 0) nodes.set(0, { seen, ranks: new Map(), members: [] });
  return { nodes: [...nodes.values()], members };
}

function madeOf(calls: ReadonlyMap<number, Call>, { callsMade, calls: kept }: ThreadRecord): number | undefined {
  let made = 0;
  for (const number of calls.keys()) made = Math.max(made, number + 1);
  return made === 0 && callsMade > kept.length ? undefined : made;
}

interface Root {
  readonly group: string;
  readonly rank: number;
}

/** The group that a part comes from by splits, and its rank there. */
function rootOf(part: RecordedPart, parts: readonly RecordedPart[]): Root {
  let { group, rank } = part;
  let parent = part.parent;
  let wholeRank = part.wholeRank;
  // Hostile records may contain cycles.
  for (let depth = 0; parent !== '' && depth < 16; depth++) {
    const of = parts.filter((other) => other.group === parent);
    const above = of.find((other) => other.rank === wholeRank) ?? of[0];
    group = parent;
    rank = above?.rank ?? wholeRank;
    parent = above?.parent ?? '';
    wholeRank = above?.wholeRank ?? -1;
  }
  return { group, rank };
}

function keyOf({ group, rank }: RecordedPart): string {
  return `${rank} ${group}`;
}

export function isMessage({ verb }: Pick<Call, 'verb'>): boolean {
  return verb === 'send' || verb === 'receive';
}

/** Whether a call has neither ended nor failed. */
export function isPending({ state, ended }: Call): boolean {
  return state !== 'done' && state !== 'failed' && ended === 0;
}
