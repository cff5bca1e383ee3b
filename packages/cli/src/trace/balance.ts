import { percent } from '../try-verdict.js';
import type { GroupRecord, Member, Node } from './group-records.js';
import type { Naming } from './naming.js';
import type { Call } from './record-file.js';
import type { Verdict } from './verdict.js';
import type { WaitGraph } from './wait-graph.js';

/** The rank for which the others wait most, and how much of their time. */
export interface Straggler {
  readonly node: Node;
  /** The part of all waiting that was for this rank, from 0 to 1. */
  readonly share: number;
  /** The part of their time that the others waited for it, from 0 to 1. */
  readonly waiting: number;
}

/** From this part of the time on, waiting for one rank is worth a sentence. */
const notable = 0.1;
/** Fewer calls, or a shorter time in microseconds, say nothing about a rank. */
const fewCalls = 5;
const shortTime = 1e6;

/** A verdict about a job in which nothing fails and nothing waits for long. */
export function balanceVerdict({ groups }: WaitGraph, naming: Naming): Verdict {
  const { main, missing } = naming;
  const none = { ranks: [], waiting: [], seconds: 0, missing };
  if (!main) return { ...none, kind: 'empty', sentence: 'no thread has joined a group' };
  for (const group of groups.values()) {
    const found = straggler(group);
    if (!found || found.share < 0.6 || found.waiting < notable) continue;
    const { node, share, waiting } = found;
    const others = group.size === 2 ? 'the other rank waits' : `the other ${group.size - 1} ranks wait`;
    const sentence = `no rank fails, but ${others} ${percent(waiting)} of the time, ${percent(share)} of it for ${naming.names([node])}`;
    return { ...none, kind: 'slow', ranks: naming.ranks([node]), group: group.id, sentence };
  }
  return { ...none, kind: 'healthy', sentence: healthySentence(main) };
}

function healthySentence({ members, size, missing }: GroupRecord): string {
  const known = missing.length === 0 ? `all ${size} ranks` : `the ${members.size} of ${size} ranks with a record`;
  const made = [...members.values()].flatMap((member) => (member.made === undefined ? [] : [member.made]));
  const [least, most] = [Math.min(...made), Math.max(...made)];
  if (size === 1 || members.has(-1))
    return `one thread has the buffers of all ${size} ranks, and has made ${most} calls`;
  if (made.length < members.size) return `${known} make calls in several groups; nothing waits`;
  if (members.size === 1) return `the only rank with a record, of ${size}, has made ${most.toLocaleString('en')} calls`;
  if (least === most) return `${known} have made the same ${most.toLocaleString('en')} calls; nothing waits`;
  return `${known} have made ${least.toLocaleString('en')} to ${most.toLocaleString('en')} calls; nothing waits for long`;
}

/** Finds the rank that comes last to calls, by how long the others wait for it. */
function straggler({ members, missing }: GroupRecord): Straggler | undefined {
  const list = [...members.values()];
  const [first] = list;
  if (!first || list.length < 2 || missing.length > 0 || members.has(-1)) return undefined;
  const caused = new Map<Member, number>();
  let [calls, all, from, to] = [0, 0, Number.POSITIVE_INFINITY, 0];
  for (const number of first.calls.keys()) {
    const late = lastOf(list, number);
    if (!late) continue;
    caused.set(late.member, (caused.get(late.member) ?? 0) + late.waited);
    calls++;
    all += late.waited;
    from = Math.min(from, late.from);
    to = Math.max(to, late.to);
  }
  const [worst] = [...caused].sort(([, a], [, b]) => b - a);
  if (!worst || all === 0 || calls < fewCalls || to - from < shortTime) return undefined;
  const [{ node }, waited] = worst;
  return { node, share: waited / all, waiting: waited / ((list.length - 1) * (to - from)) };
}

/** The member that began a call last, and how long all others waited for it; undefined if not all have ended the call. */
function lastOf(members: readonly Member[], number: number) {
  let member: Member | undefined;
  let [last, from, to] = [0, Number.POSITIVE_INFINITY, 0];
  for (const one of members) {
    const call = one.calls.get(number);
    if (!call || call.begun === 0 || call.state !== 'done') return undefined;
    const { offset } = one.node.seen;
    const begun = call.begun + offset;
    if (!member || begun > last) [member, last] = [one, begun];
    from = Math.min(from, begun);
    to = Math.max(to, call.ended + offset);
  }
  if (!member) return undefined;
  let waited = 0;
  for (const { calls, node } of members) {
    const { begun, ended } = calls.get(number) as Call;
    waited += Math.max(0, Math.min(last - node.seen.offset, ended) - begun);
  }
  return { member, waited, from, to };
}
