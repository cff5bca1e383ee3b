import type { GroupRecord, Member } from './group-records.js';
import type { Call } from './record-file.js';
import { unfinishedCall } from './wait-graph.js';

/** Ranks that made another call than the others, at the same number. */
export interface WrongCall {
  readonly group: GroupRecord;
  readonly guilty: readonly Member[];
  /** The call of the first guilty member. */
  readonly call: Call;
  /** The call that others made. */
  readonly expected: Call;
  readonly others: readonly Member[];
}

/** Finds the first call of a group that is not the same on all ranks. */
export function wrongCall(group: GroupRecord): WrongCall | undefined {
  const numbers = new Set<number>();
  for (const member of group.members.values()) {
    const call = unfinishedCall(member);
    if (call) numbers.add(call.number);
  }
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const wrong = compared(group, number);
    if (wrong) return wrong;
  }
  return undefined;
}

function compared(group: GroupRecord, number: number): WrongCall | undefined {
  const sorted = [...group.members].sort(([a], [b]) => a - b).map(([, member]) => member);
  const made = sorted.filter((member) => isMadeInGoodFaith(member, number));
  const bySignature = new Map<string, Member[]>();
  for (const member of made) {
    const signature = signatureOf(member.calls.get(number) as Call);
    bySignature.set(signature, [...(bySignature.get(signature) ?? []), member]);
  }
  if (bySignature.size < 2) return undefined;
  const alternatives = [...bySignature.values()];
  const majority = alternatives.find((members) => 2 * members.length > made.length);
  const [first] = alternatives as [Member[]];
  const right = majority ?? first;
  const wrong = alternatives.filter((members) => members !== right).flat();
  wrong.sort((a, b) => a.part.rank - b.part.rank);
  // Without a majority, nothing says that the other ranks that differ from the first one are wrong, too.
  const guilty = majority ? wrong : wrong.slice(0, 1);
  const call = (member: Member) => member.calls.get(number) as Call;
  const [expected, actual] = [call(right[0] as Member), call(guilty[0] as Member)];
  return { group, guilty, call: actual, expected, others: right };
}

/** Native code and JavaScript may read the clock differently by this many microseconds. */
const inexact = 50_000;

/** Whether a rank has made a call before it knew of a failure of the group. Programs may do anything afterwards. */
function isMadeInGoodFaith({ calls, node, part }: Member, number: number): boolean {
  const call = calls.get(number);
  if (!call || part.rank < 0) return false;
  const failure = node.seen.record.notes.find((note) => note.kind === 'failure' && note.part?.group === part.group);
  return !failure || call.begun <= failure.time + inexact;
}

/** What all ranks must agree on. */
function signatureOf({ verb, op, dtype, purpose, peer, bytes }: Call): string {
  // A root's buffer has the values of all ranks. Parts of other requests may differ in length.
  const hasOneLength = purpose === 'itself' && verb !== 'gather' && verb !== 'scatter';
  return [verb, op, dtype, purpose, peer, hasOneLength ? bytes : ''].join(' ');
}
