import assert from 'node:assert/strict';
import { AbortedError, type CollError, RuntimeError, ValueError } from '@coll/core';
import { nameOf } from '@coll/core/plugin';
import { hasBlocks } from '@coll/core/schedule';
import { abortReason } from '../execute-calls.js';
import type { Call, CallOptions, GroupMember, Outcome, TestGroup } from '../group.js';
import { oneOfEach, rooted } from './collectives.js';
import { assertError, type ExpectedError } from './error-check.js';
import { caseFor, type ExecutorCase, type ExecutorCases, type Setting } from './executor-case.js';
import { goodCall, Untouched } from './good-call.js';
import type { Subject } from './subject.js';
import { damages } from './wrong-buffers.js';

/**
 * Tests that invalid calls are refused before any data is moved, and that the group remains usable
 * if all members have refused a call.
 */
export const refusalCases: ExecutorCases = {
  ...Object.fromEntries(Object.keys(damages).map((damage) => [`refuses ${damage}`, refusesDamage(damage)])),
  'refuses segments of buffers that have a block per rank': caseFor(
    ({ kinds }) => kinds.some(hasBlocks),
    refusesSegments,
  ),
  'refuses a root that is not a rank': caseFor(
    ({ kinds }) => oneOfEach(0).some((collective) => 'root' in collective && kinds.includes(collective.kind)),
    refusesRoots,
  ),
  'refuses a call whose signal is already aborted': refusesAborted,
  'refuses every call once it is closed': refusesWhenClosed,
};

/**
 * An invalid call of one member of a group. A member that does not notice the mistake waits for the
 * others, which make a call that was aborted before it begins.
 */
interface Attempt {
  readonly group: TestGroup;
  readonly title: string;
  readonly member: GroupMember;
  readonly call: Call;
  readonly expected: ExpectedError;
}

// The time after which a member that has not noticed the mistake stops waiting for the others.
const soon: CallOptions = { timeoutSeconds: 0.1 };

/**
 * Returns a condition for cases: the mistake `name` is possible in some call of a member. True if
 * it is unknown which ranks the members have.
 */
function canBeDamaged(name: string) {
  return ({ size, members, kinds }: Setting): boolean => {
    if (members !== 1 && members !== size) return true;
    const localRanks = members === 1 ? Array.from({ length: size }, (_, rank) => rank) : [size - 1];
    const collectives = oneOfEach(size - 1).filter(({ kind }) => kinds.includes(kind));
    return collectives.some(
      (collective) => damages[name]?.(goodCall(size, { localRanks }, { collective })) !== undefined,
    );
  };
}

function refusesDamage(name: string): ExecutorCase {
  return caseFor(canBeDamaged(name), async (subject) => {
    const group = await subject.group();
    const last = group.members.at(-1) as GroupMember;
    for (const collective of subject.among(oneOfEach(subject.size - 1))) {
      if ((await subject.refusal(collective, 'float32')) !== undefined) continue;
      for (const mode of modesOf(group)) {
        const good = goodCall(subject.size, last, { collective, options: { ...soon, mode } });
        const call = damages[name]?.(good);
        const title = `${mode} ${nameOf(collective)} among ${subject.size} ranks with ${name}`;
        if (call) await attempt({ group, title, member: last, call, expected: { class: ValueError } });
      }
    }
    await subject.check([{ collective: { kind: 'all-reduce', op: 'sum' }, dtype: 'float32', block: 3 }]);
  });
}

async function refusesRoots(subject: Subject): Promise<void> {
  const group = await subject.group();
  const member = group.members.at(-1) as GroupMember;
  for (const root of [-1, subject.size, 0.5, Number.NaN]) {
    for (const collective of subject.among(rooted([root]))) {
      const refusal = await member.refuses(collective, 'float32');
      assert.ok(refusal, `refuses() must say that ${root} is not one of ${subject.size} ranks`);
      for (const mode of modesOf(group)) {
        const call = goodCall(subject.size, member, { collective, options: { ...soon, mode } });
        const title = `${mode} ${nameOf(collective)} among ${subject.size} ranks`;
        await attempt({ group, title, member, call, expected: { class: ValueError } });
      }
    }
  }
}

async function refusesSegments(subject: Subject): Promise<void> {
  const group = await subject.group();
  const member = group.members.at(-1) as GroupMember;
  for (const collective of subject.among(oneOfEach(subject.size - 1).filter(({ kind }) => hasBlocks(kind)))) {
    if ((await subject.refusal(collective, 'float32')) !== undefined) continue;
    for (const mode of modesOf(group)) {
      const call = goodCall(subject.size, member, { collective, options: { ...soon, mode, cuts: [1] } });
      const title = `${mode} ${nameOf(collective)} in segments`;
      await attempt({ group, title, member, call, expected: { class: ValueError, code: 'ERR_COLL_BUFFER' } });
    }
  }
}

async function refusesAborted(subject: Subject): Promise<void> {
  for (const collective of subject.among([{ kind: 'all-reduce', op: 'sum' }, { kind: 'all-gather' }])) {
    await using group = await subject.another();
    const member = group.members[0] as GroupMember;
    for (const mode of modesOf(group)) {
      const call = goodCall(subject.size, member, { collective, options: { ...soon, mode, abort: 'before' } });
      const title = `${mode} ${nameOf(collective)} with an aborted signal`;
      const expected = { class: AbortedError, code: 'ERR_COLL_ABORTED' } as const;
      const error = await attempt({ group, title, member, call, expected });
      assert.equal(
        (error.cause as Error | undefined)?.message,
        abortReason,
        `${title}: the cause is the signal's reason`,
      );
    }
  }
}

async function refusesWhenClosed(subject: Subject): Promise<void> {
  const group = await subject.another();
  await group.close();
  await group.close();
  for (const collective of subject.among(oneOfEach(0))) {
    for (const [index, member] of group.members.entries()) {
      for (const mode of modesOf(group)) {
        const call = goodCall(subject.size, member, { collective, options: { ...soon, mode } });
        const title = `${mode} ${nameOf(collective)} on member ${index} of a closed group`;
        await attempt({ group, title, member, call, expected: { class: RuntimeError, code: 'ERR_COLL_CLOSED' } });
      }
    }
  }
}

async function attempt({ group, title, member, call, expected }: Attempt): Promise<CollError> {
  const untouched = new Untouched([call]);
  const [[outcome]] = (await Promise.all([member.execute([call]), ...refusedByOthers(group, member)])) as [Outcome[]];
  untouched.assert(title);
  return assertError(title, outcome, expected);
}

/** Calls that the other members refuse, too, so that the members' calls still match. */
function refusedByOthers({ size, members }: TestGroup, member: GroupMember): Promise<readonly Outcome[]>[] {
  const options: CallOptions = { abort: 'before' };
  const call = (other: GroupMember) =>
    goodCall(size, other, { collective: { kind: 'all-reduce', op: 'sum' }, options });
  return members.filter((other) => other !== member).map((other) => other.execute([call(other)]));
}

function modesOf({ canBlock }: TestGroup): readonly NonNullable<CallOptions['mode']>[] {
  return canBlock ? ['run', 'runSync'] : ['run'];
}
