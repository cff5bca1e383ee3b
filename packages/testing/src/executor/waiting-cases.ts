import assert from 'node:assert/strict';
import {
  AbortedError,
  CollError,
  DeadlineExceededError,
  type ErrorCode,
  RuntimeError,
  UnavailableError,
} from '@coll/core';
import { abortReason } from '../execute-calls.js';
import type { Call, CallOptions, GroupMember, Outcome, TestGroup } from '../group.js';
import { assertError, type ExpectedError } from './error-check.js';
import { caseFor, type ExecutorCase, type ExecutorCases, type Setting, severalMembers } from './executor-case.js';
import { type GoodRequest, goodCall } from './good-call.js';

/**
 * Tests that a passed deadline, an abort, or the end of a group ends the members' wait for each
 * other. In groups with one member, no member waits.
 */
export const waitingCases: ExecutorCases = {
  'waits for late members': withMembers(waitsForLate),
  'names members that did not arrive by the deadline': withMembers(namesMissing),
  'wakes the others when a member leaves': withMembers(wakesWhenLeft),
  'ends its own waiting calls when it is closed': withMembers(endsWhenClosed),
  'ends the wait of all members when a signal is aborted at once': withMembers(endsWhenAborted('at once')),
  'ends the wait of all members when a signal is aborted later': withMembers(endsWhenAborted('later')),
  'fails later calls in flight after an aborted call': withMembers(failsBehindAborted),
};

/**
 * Tests that other members stop waiting for a member that has exited without notifying them.
 * Separate from `waitingCases`, because starting a new member may take long.
 */
export const crashCases: ExecutorCases = {
  'wakes the others when a member crashes': caseFor(
    (setting) => severalMembers(setting) && setting.kinds.includes('all-reduce') && !setting.lacks.includes('crash'),
    withMembers(wakesWhenCrashed),
  ),
};

const sum: GoodRequest = { collective: { kind: 'all-reduce', op: 'sum' } };
const aborted: ExpectedError = { class: AbortedError, code: 'ERR_COLL_ABORTED' };

type Mode = NonNullable<CallOptions['mode']>;

/** Runs the check once per calling mode, each time on a new group of several members. */
function withMembers(run: (group: TestGroup, mode: Mode) => Promise<void>): ExecutorCase {
  const appliesTo = (setting: Setting) => severalMembers(setting) && setting.kinds.includes('all-reduce');
  return caseFor(appliesTo, async (subject) => {
    if (subject.size === 1 || subject.among([sum.collective]).length === 0) return;
    await subject.onNewGroups(run);
  });
}

/** Makes the call of one member. If the call succeeds, checks its result. */
async function call(group: TestGroup, member: GroupMember, options: CallOptions): Promise<Outcome> {
  const part = goodCall(group.size, member, { ...sum, options });
  const [outcome] = await member.execute([part]);
  if (!outcome) assertSums(group.size, part);
  return outcome;
}

function assertSums(size: number, { outputs }: Call): void {
  const everyone = Array.from({ length: size }, (_, rank) => rank);
  const { inputs } = goodCall(size, { localRanks: everyone }, sum);
  const sums = everyone.reduce(
    (total, rank) => total.map((element, index) => element + Number(inputs[rank]?.data[index])),
    [0, 0, 0, 0],
  );
  for (const { data } of outputs) assert.deepEqual(Array.from(data as Float32Array), sums, 'a member has other sums');
}

// Timeout in seconds. A member that is not notified of an event waits this long, and then gets another error.
const longest = 60;

// A short delay, so that the other members are probably waiting already. If not, the outcome is the same.
const moment = () => new Promise<void>((resolve) => setTimeout(resolve, 20));

async function waitsForLate(group: TestGroup, mode: Mode): Promise<void> {
  for (const timeoutSeconds of [undefined, null, 0, 30]) {
    const options = { mode, ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }) };
    const early = call(group, group.members[0] as GroupMember, options);
    await moment();
    const late = group.members.slice(1).map((member) => call(group, member, options));
    const failed = (await Promise.all([early, ...late])).find((outcome) => outcome !== undefined);
    assert.ok(failed === undefined, `with timeoutSeconds ${timeoutSeconds} no rank may time out: ${failed}`);
  }
}

async function namesMissing(group: TestGroup, mode: Mode): Promise<void> {
  const { members } = group;
  const isMissing = (index: number) => (mode === 'run' ? index > 0 && index > members.length - 3 : index === 0);
  const present = members.filter((_, index) => !isMissing(index));
  const missing = members.filter((_, index) => isMissing(index));
  // Ranks that outnumber cores arrive one after the other, and a message names a few dozen that are late.
  const timeoutSeconds = group.size > 32 ? 5 : 0.1;
  const outcomes = await Promise.all(present.map((member) => call(group, member, { mode, timeoutSeconds })));
  const expected: ExpectedError = { class: DeadlineExceededError, code: 'ERR_COLL_DEADLINE' };
  for (const outcome of outcomes) {
    const { message } = assertError('waiting longer than timeoutSeconds', outcome, expected);
    for (const rank of missing.flatMap(({ localRanks }) => localRanks)) {
      assert.match(message, new RegExp(`\\b${rank}\\b`), `the message names rank ${rank}, which did not arrive`);
    }
  }
  // A late member may have received all data that it needs before it learns of the failure.
  const attempt = (member: GroupMember) => call(group, member, { mode, timeoutSeconds: 5 });
  const late = await Promise.all(missing.map(async (member) => (await attempt(member)) ?? (await attempt(member))));
  for (const outcome of late)
    assertError('arriving after the deadline of other members', outcome, { class: CollError });
}

async function wakesWhenLeft(group: TestGroup, mode: Mode): Promise<void> {
  const leaver = group.members.at(-1) as GroupMember;
  const waiting = group.members.slice(0, -1).map((member) => call(group, member, { mode, timeoutSeconds: longest }));
  await moment();
  await leaver.close();
  assertLost(await Promise.all(waiting), leaver, ['ERR_COLL_CLOSED', 'ERR_COLL_PEER_FAILED']);
}

async function wakesWhenCrashed(group: TestGroup, mode: Mode): Promise<void> {
  const victim = group.members.at(-1) as GroupMember;
  if (!victim.crash) return;
  const waiting = group.members.slice(0, -1).map((member) => call(group, member, { mode, timeoutSeconds: longest }));
  await moment();
  await victim.crash();
  const outcomes = await Promise.all(waiting);
  assertLost(outcomes, victim, ['ERR_COLL_PEER_FAILED']);
  for (const outcome of outcomes) assertError('losing a member', outcome, { class: UnavailableError });
}

function assertLost(outcomes: readonly Outcome[], { localRanks }: GroupMember, codes: readonly ErrorCode[]): void {
  for (const outcome of outcomes) {
    const { code, rank } = assertError('waiting for a member that has left', outcome, { class: CollError });
    assert.ok(codes.includes(code), `the code must be ${codes.join(' or ')}, not ${code}`);
    assert.ok(rank !== undefined && localRanks.includes(rank), `error.rank must be ${localRanks}, not ${rank}`);
  }
}

async function endsWhenClosed(group: TestGroup, mode: Mode): Promise<void> {
  // A blocked thread cannot close its member.
  if (mode === 'runSync') return;
  const [member] = group.members as readonly [GroupMember];
  const waiting = call(group, member, { mode, timeoutSeconds: longest });
  await moment();
  await member.close();
  assertError('closing while waiting', await waiting, { class: RuntimeError, code: 'ERR_COLL_CLOSED' });
}

function endsWhenAborted(abort: 'at once' | 'later') {
  return async (group: TestGroup, mode: Mode): Promise<void> => {
    const [aborter, ...others] = group.members.slice(0, -1) as [GroupMember, ...GroupMember[]];
    // The aborting member does not block its thread, because a signal cannot reach a blocked
    // thread. The other members may block.
    const waiting = others.map((member) => call(group, member, { mode, timeoutSeconds: longest }));
    const own = await call(group, aborter, { mode: 'run', timeoutSeconds: longest, abort });
    const { cause } = assertError(`aborting ${abort}`, own, aborted);
    assert.equal((cause as Error | undefined)?.message, abortReason, "the cause is the signal's reason");
    for (const outcome of await Promise.all(waiting)) assertError('waiting while another aborts', outcome, aborted);
    const late = await call(group, group.members.at(-1) as GroupMember, { mode, timeoutSeconds: longest });
    assertError('arriving after another member has aborted', late, aborted);
  };
}

async function failsBehindAborted(group: TestGroup, mode: Mode): Promise<void> {
  if (mode === 'runSync') return;
  const [member] = group.members as readonly [GroupMember];
  const own = (options: CallOptions) => goodCall(group.size, member, { ...sum, options });
  const calls = [own({ timeoutSeconds: longest, abort: 'later' }), own({ timeoutSeconds: longest })];
  const [first, second] = await member.execute(calls);
  assertError('an aborted call', first, aborted);
  assertError('the call behind an aborted one', second, { class: CollError });
}
