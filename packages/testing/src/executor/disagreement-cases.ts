import assert from 'node:assert/strict';
import {
  AbortedError,
  CollError,
  type ErrorCode,
  InternalError,
  InvalidArgumentError,
  UnavailableError,
  ValueError,
} from '@coll/core';
import type { Call, CallOptions, GroupMember, Outcome, TestGroup } from '../group.js';
import { assertError, type ExpectedError } from './error-check.js';
import { caseFor, type ExecutorCase, type ExecutorCases, type Setting, severalMembers } from './executor-case.js';
import { type GoodRequest, goodCall, Untouched } from './good-call.js';
import type { Subject } from './subject.js';

const sum: GoodRequest = { collective: { kind: 'all-reduce', op: 'sum' } };
const gather: GoodRequest = { collective: { kind: 'all-gather' } };
const from = (root: number): GoodRequest => ({ collective: { kind: 'broadcast', root } });
const collect = (root: number): GoodRequest => ({ collective: { kind: 'gather', root } });
const handOut = (root: number): GoodRequest => ({ collective: { kind: 'scatter', root } });
const exchange: GoodRequest = { collective: { kind: 'all-to-all' } };
const to = (root: number): GoodRequest => ({ collective: { kind: 'reduce', op: 'sum', root } });

const otherRequest = internal('ERR_COLL_MISMATCH');
const otherDType = internal('ERR_COLL_DTYPE_MISMATCH');
const otherLength: ExpectedError = { class: InvalidArgumentError, code: 'ERR_COLL_SHAPE_MISMATCH' };
const refusedAlone: ExpectedError = { class: UnavailableError, code: 'ERR_COLL_PEER_FAILED' };
const abortedAlone: ExpectedError = { class: AbortedError, code: 'ERR_COLL_ABORTED' };
const sharedMemory: ExpectedError = { class: ValueError, code: 'ERR_COLL_BUFFER' };

/**
 * Tests that all members get the same error if their calls do not match. If only one member's call
 * differs from those of the others, the error names a rank of that member. A group of one member
 * cannot disagree.
 */
export const disagreementCases: ExecutorCases = {
  'detects another kind': disagree(sum, gather, otherRequest),
  'detects another op': disagree(sum, { collective: { kind: 'all-reduce', op: 'max' } }, otherRequest),
  'detects another root': disagree(from(0), from(1), otherRequest),
  'detects another kind with the same root': disagree(to(0), from(0), otherRequest),
  'detects another dtype': disagree(sum, { ...sum, dtype: 'int32' }, otherDType),
  'detects a wider dtype': disagree(sum, { ...sum, dtype: 'float64' }, otherDType),
  'detects another length': disagree(sum, { ...sum, block: 5 }, otherLength),
  'detects another length of a broadcast': disagree(from(0), { ...from(0), block: 3 }, otherLength),
  'detects another length of a gather': disagree(gather, { ...gather, block: 9 }, otherLength),
  'detects another root of a gather': disagree(collect(0), collect(1), otherRequest),
  'detects a scatter among gathers with the same root': disagree(collect(0), handOut(0), otherRequest),
  'detects an all-to-all among all-gathers': disagree(gather, exchange, otherRequest),
  'detects another length of a gather to one rank': disagree(collect(0), { ...collect(0), block: 9 }, otherLength),
  'detects another length of a scatter': disagree(handOut(0), { ...handOut(0), block: 3 }, otherLength),
  'detects another length of an all-to-all': disagree(exchange, { ...exchange, block: 5 }, otherLength),
  'detects an invalid call that only one member has made': refuseAlone({ detached: 'output' }, refusedAlone),
  'detects an aborted call that only one member has made': refuseAlone({ abort: 'before' }, abortedAlone),
  'fails later calls in flight after a disagreement': caseFor(disagreeing([sum]), failsWhatIsBehind),
  'detects outputs that share memory': share((index) => ({ input: 64 * index, output: 4096 })),
  'detects an output that overlaps the input of another rank': share((index, size) => {
    return { input: 64 * index, output: index === 0 ? 64 * (size - 1) : 4096 + 64 * index };
  }),
};

function internal(code: ErrorCode): ExpectedError {
  return { class: InternalError, code };
}

/**
 * Makes a case in which one member makes the request `odd` and all others make the request `usual`.
 */
function disagree(usual: GoodRequest, odd: GoodRequest, expected: ExpectedError): ExecutorCase {
  return caseFor(disagreeing([usual, odd]), async (subject) => {
    if (!(await canRun(subject, [usual, odd]))) return;
    await subject.onNewGroups(async (group, mode) => {
      const { members } = group;
      const oddAt = mode === 'run' ? members.length - 1 : 0;
      const options = { mode, timeoutSeconds: 60 };
      const calls = members.map((member, index) =>
        goodCall(subject.size, member, { ...(index === oddAt ? odd : usual), options }),
      );
      const untouched = new Untouched(calls);
      const outcomes = await executeOne(group, calls);
      assertSameError(`member ${oddAt} of ${members.length}, which asks for something else,`, outcomes, expected);
      // With two members, either may be the odd one.
      if (members.length > 2) assertNames(outcomes[0], members[oddAt] as GroupMember);
      untouched.assert('after a disagreement');
      await assertFailed(group, subject);
    });
  });
}

/**
 * Makes a case in which the last member catches the error of a call that it alone makes, and then
 * makes the same call as all others.
 */
function refuseAlone(damage: CallOptions, expected: ExpectedError): ExecutorCase {
  return caseFor(disagreeing([sum]), async (subject) => {
    if (!(await canRun(subject, [sum]))) return;
    await subject.onNewGroups(async (group, mode) => {
      const last = group.members.at(-1) as GroupMember;
      const options = { mode, timeoutSeconds: 60 };
      const [refused] = await last.execute([
        goodCall(subject.size, last, { ...sum, options: { ...options, ...damage } }),
      ]);
      assertError('the call of the last member alone', refused, { class: CollError });
      const calls = group.members.map((member) => goodCall(subject.size, member, { ...sum, options }));
      const untouched = new Untouched(calls);
      const outcomes = await executeOne(group, calls);
      assertSameError('the call after one that only the last member has made', outcomes, expected);
      assertNames(outcomes[0], last);
      untouched.assert('after a call that only one member has made');
      await assertFailed(group, subject);
    });
  });
}

/**
 * Returns a condition for cases: the group has several members, and the suite tests the kinds of
 * these requests.
 */
function disagreeing(requests: readonly GoodRequest[]) {
  return (setting: Setting): boolean =>
    severalMembers(setting) && requests.every(({ collective: { kind } }) => setting.kinds.includes(kind));
}

async function canRun(subject: Subject, requests: readonly GoodRequest[]): Promise<boolean> {
  const collectives = requests.map(({ collective }) => collective);
  if (subject.size === 1 || subject.among(collectives).length < collectives.length) return false;
  const refusals = await Promise.all(collectives.map((collective) => subject.refusal(collective, 'float32')));
  return refusals.every((refusal) => refusal === undefined);
}

async function executeOne(group: TestGroup, calls: readonly Call[]): Promise<Outcome[]> {
  const outcomes = await group.executeEach((_, index) => [calls[index] as Call]);
  return outcomes.map(([outcome]) => outcome);
}

function assertSameError(title: string, outcomes: readonly Outcome[], expected: ExpectedError): void {
  const messages = outcomes.map(
    (outcome, index) => assertError(`${title} on member ${index}`, outcome, expected).message,
  );
  const other = messages.find((message) => message !== messages[0]);
  assert.ok(other === undefined, `${title} must be the same error everywhere, but is "${messages[0]}" and "${other}"`);
}

function assertNames(outcome: Outcome, { localRanks }: GroupMember): void {
  const { rank, message } = outcome as CollError;
  assert.ok(
    rank !== undefined && localRanks.includes(rank),
    `error.rank must be ${localRanks}, not ${rank}: ${message}`,
  );
  assert.match(message, new RegExp(`\\brank ${rank}\\b`), 'the message names the odd rank');
}

async function assertFailed(group: TestGroup, { size }: Subject): Promise<void> {
  const options = { timeoutSeconds: 60 };
  const outcomes = await executeOne(
    group,
    group.members.map((member) => goodCall(size, member, { ...sum, options })),
  );
  outcomes.forEach((outcome, index) => {
    assertError(`a call of member ${index} after the group has failed`, outcome, { class: CollError });
  });
}

async function failsWhatIsBehind(subject: Subject): Promise<void> {
  if (!(await canRun(subject, [sum]))) return;
  await using group = await subject.another();
  const { members } = group;
  if (members.length < 2) return;
  const options = { timeoutSeconds: 60 };
  const outcomes = await group.executeEach((member, index) => [
    goodCall(subject.size, member, { ...sum, block: index === 0 ? 3 : 4, options }),
    goodCall(subject.size, member, { ...sum, block: 1, options }),
  ]);
  assertSameError(
    'a disagreement with calls in flight behind it',
    outcomes.map(([first]) => first),
    otherLength,
  );
  outcomes.forEach(([, second], index) => {
    assertError(`the call behind a disagreement on member ${index}`, second, { class: CollError });
  });
}

/**
 * Makes a case in which the buffers of all members are in shared memory, at the offsets that
 * `placeOf` returns.
 */
function share(placeOf: (index: number, size: number) => { input: number; output: number }): ExecutorCase {
  const appliesTo = (setting: Setting) => disagreeing([sum])(setting) && !setting.lacks.includes('reserve');
  return caseFor(appliesTo, async (subject) => {
    if (!(await canRun(subject, [sum]))) return;
    await using group = await subject.another();
    const base = await group.members[0]?.reserve?.(8192);
    if (base === undefined || group.members.length < 2) return;
    const calls = group.members.map((member, index) => {
      const { input, output } = placeOf(index, group.members.length);
      const sharedAt = { input: base + input, output: base + output };
      return goodCall(subject.size, member, { ...sum, options: { timeoutSeconds: 60, sharedAt } });
    });
    assertSameError('one buffer given twice', await executeOne(group, calls), sharedMemory);
  });
}
