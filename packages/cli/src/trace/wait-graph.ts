import { type Condition, conditionsOf, firstFailure, isSuperseded } from './condition.js';
import { type GroupRecord, isPending, type Member, mergeGroups, type Node, type SeenRecord } from './group-records.js';
import type { Call, Note } from './record-file.js';

/** Why one node waits for another, or has failed because of it. */
export interface Edge {
  readonly from: Member;
  /** Undefined if there is no record of the rank. */
  readonly to: Node | undefined;
  /** Rank of `to` in the group of `from`. */
  readonly rank: number;
  /** Undefined if the node knows of a failure without a call. */
  readonly call: Call | undefined;
  /** Whether `to` has begun the call, too. */
  readonly isInside: boolean;
  /** Whether `to` has never begun the call, not even after `from` had failed. */
  readonly isNever?: boolean;
  /** The note that names `to` as the reason. */
  readonly note?: Note;
}

export interface WaitGraph {
  readonly nodes: readonly Node[];
  readonly groups: ReadonlyMap<string, GroupRecord>;
  readonly conditions: ReadonlyMap<Node, Condition>;
  /** Edges by the node that waits or has failed. */
  readonly edges: ReadonlyMap<Node, readonly Edge[]>;
}

/** Conditions in which a rank keeps others from ending a call that it has begun. */
const hindering: ReadonlySet<Condition['kind']> = new Set(['ended', 'killed', 'stopped', 'silent', 'busy', 'blocked']);

/** Errors that do not say who is to blame: their rank is the one whose call ended first. */
const blameless = /^ERR_COLL_(DEADLINE|ABORTED)\b/;

/** Finds who waits for whom, or has failed because of whom. */
export function waitGraph(records: readonly SeenRecord[]): WaitGraph {
  const { groups, nodes } = mergeGroups(records);
  const conditions = conditionsOf(nodes);
  const edges = new Map<Node, readonly Edge[]>();
  const blamed = new Map(nodes.map((node) => [node, blames(node, groups)]));
  const waiting = new Map(nodes.map((node) => [node, node.members.flatMap((from) => waits(from, groups, conditions))]));
  for (const node of nodes) {
    const kept = (blamed.get(node) ?? []).filter(({ to }) => !to || !isConsequence(node, to, { blamed, waiting }));
    const waits = waiting.get(node) ?? [];
    const before = kept.length > 0 ? waits.filter(isOlderCause) : waits;
    const isKnown = kept.some(({ to }) => before.some((edge) => edge.to === to));
    edges.set(node, before.length > 0 && !isKnown ? before : kept);
  }
  return { nodes, groups, conditions, edges };
}

/**
 * Whether a rank had waited long for one that has never come, before its call failed: somebody has ended
 * the job because it hung.
 */
function isOlderCause({ call, isNever }: Edge): boolean {
  return isNever === true && call?.state === 'failed' && call.ended - call.begun >= longWait;
}

/** Waits that are shorter are normal, in microseconds. */
export const longWait = 2e6;

interface Edges {
  readonly blamed: ReadonlyMap<Node, readonly Edge[]>;
  readonly waiting: ReadonlyMap<Node, readonly Edge[]>;
}

/** Whether `to`, which `node` names as the reason for its failure, had itself failed before, because of `node`. */
function isConsequence(node: Node, to: Node, { blamed, waiting }: Edges): boolean {
  const [ours, theirs] = [firstFailure(node), firstFailure(to)];
  if (theirs === undefined || (ours !== undefined && ours < theirs)) return false;
  const reasons = blamed.get(to) ?? [];
  return (reasons.length > 0 ? reasons : (waiting.get(to) ?? [])).some((edge) => edge.to === node);
}

/** The failures of a node that name another rank. */
function blames(node: Node, groups: ReadonlyMap<string, GroupRecord>): readonly Edge[] {
  return node.members.flatMap((from) =>
    failuresOf(from).flatMap((note) => {
      const { rank, text } = note;
      if (rank === undefined || rank === from.part.rank || blameless.test(text)) return [];
      const member = groups.get(from.part.group)?.members.get(rank);
      const call = unfinishedCall(from);
      const isInside = call !== undefined && (member?.calls.has(call.number) ?? false);
      return [{ from, to: member?.node, rank, call, isInside, note }];
    }),
  );
}

/** The failures of a member's group. */
function failuresOf({ node, part }: Member): readonly Note[] {
  const { record } = node.seen;
  return record.notes.filter(
    (note) => note.kind === 'failure' && isSamePart(note, part) && !isSuperseded(record, note.time),
  );
}

function isSamePart(note: Note, part: Member['part']): boolean {
  return note.part?.group === part.group && note.part.rank === part.rank;
}

/** The note by which a rank's own error ended the group; undefined if there is none. */
export function ownFailure({ members }: Node): Note | undefined {
  for (const member of members) {
    const note = failuresOf(member).find(({ rank, text }) => rank === member.part.rank && !blameless.test(text));
    if (note) return note;
  }
  return undefined;
}

/** The first collective of a member that has not ended well, unless later ones have. */
export function unfinishedCall({ calls, node }: Member): Call | undefined {
  let first: Call | undefined;
  let lastDone = -1;
  for (const call of calls.values()) {
    if (call.state === 'done') lastDone = Math.max(lastDone, call.number);
    else if (isUnfinished(call, node) && (!first || call.number < first.number)) first = call;
  }
  // A program may go on after a failure. A pending call keeps all later ones of the group waiting.
  if (first && first.state === 'failed' && lastDone > first.number)
    return [...calls.values()].filter((call) => call.number > lastDone && call.state !== 'done').sort(byNumber)[0];
  return first;
}

function isUnfinished(call: Call, { seen }: Node): boolean {
  return call.state === 'failed' ? !isSuperseded(seen.record, call.ended) : isPending(call);
}

function byNumber(a: Call, b: Call): number {
  return a.number - b.number;
}

function waits(
  from: Member,
  groups: ReadonlyMap<string, GroupRecord>,
  conditions: ReadonlyMap<Node, Condition>,
): readonly Edge[] {
  const group = groups.get(from.part.group);
  if (!group || from.part.rank < 0) return [];
  const call = unfinishedCall(from);
  const messages = from.messages.filter(
    (message) => isPending(message) || (message.state === 'failed' && message === from.messages.at(-1)),
  );
  return [
    ...(call ? collectiveEdges(from, call, { group, conditions }) : []),
    ...messages.flatMap((message) => messageEdges(from, message, { group, conditions })),
  ];
}

interface Surroundings {
  readonly group: GroupRecord;
  readonly conditions: ReadonlyMap<Node, Condition>;
}

function collectiveEdges(from: Member, call: Call, { group, conditions }: Surroundings): readonly Edge[] {
  const absent: Edge[] = [];
  const hindered: Edge[] = [];
  for (const [rank, to] of group.members) {
    if (to === from || to.node === from.node || rank < 0) continue;
    const theirs = to.calls.get(call.number);
    const edge = { from, to: to.node, rank, call };
    if (theirs ? isLater(to, theirs, from, call) : hasNotMade(to, call.number) && isSeenAfter(to, from, call))
      absent.push({ ...edge, isInside: false, isNever: !theirs });
    else if (theirs && theirs.state !== 'done' && hinders(to.node, conditions))
      hindered.push({ ...edge, isInside: true });
  }
  const missing = group.missing.map((rank) => ({ from, to: undefined, rank, call, isInside: false }));
  return absent.length + missing.length > 0 ? [...absent, ...missing] : hindered;
}

function messageEdges(from: Member, call: Call, { group, conditions }: Surroundings): readonly Edge[] {
  const rank = call.peer as number;
  const to = group.members.get(rank);
  const edge = { from, to: to?.node, rank, call };
  if (!to) return [{ ...edge, isInside: false }];
  const verb = call.verb === 'send' ? 'receive' : 'send';
  const theirs = to.messages.find(
    ({ verb: other, peer, number }) => other === verb && peer === from.part.rank && number === call.number,
  );
  if (theirs ? isLater(to, theirs, from, call) : isSeenAfter(to, from, call))
    return [{ ...edge, isInside: false, isNever: !theirs }];
  return hinders(to.node, conditions) ? [{ ...edge, isInside: true }] : [];
}

/** Whether a node keeps others from ending a call. One that has failed itself is not the reason. */
function hinders(node: Node, conditions: ReadonlyMap<Node, Condition>): boolean {
  return hindering.has((conditions.get(node) as Condition).kind) && firstFailure(node) === undefined;
}

function hasNotMade({ made }: Member, number: number): boolean {
  return made !== undefined && made <= number;
}

/** Whether a member's record says what it did after a call of another one had begun. Records are read one after the other. */
function isSeenAfter(to: Member, from: Member, { begun }: Call): boolean {
  return begun + from.node.seen.offset <= to.node.seen.seenUntil;
}

/** Whether a member has begun a call only after it had failed on another one. */
function isLater(to: Member, theirs: Call, from: Member, call: Call): boolean {
  if (call.state !== 'failed' || call.ended === 0 || theirs.begun === 0) return false;
  return theirs.begun + to.node.seen.offset > call.ended + from.node.seen.offset;
}
