import { hostname } from 'node:os';
import { expect, it } from 'vitest';
import type { Report, Seen } from './faults/messages.ts';
import type { Outcome } from './faults/run-scenario.ts';
import { type Fault, type Scenario, scenarioOf } from './faults/scenario.ts';
import { verdictOf } from './faults/verdict.ts';

// What the fault program would not notice, it could not be trusted with.

const none = { descriptors: 20, sockets: 2, threads: 11, sharedMappings: 0 };
const scenario = (fault: Fault): Scenario => ({ ...scenarioOf(0), fault, size: 3, replicas: 1, victim: 1, other: 2 });
const lost: Seen = {
  name: 'UnavailableError',
  code: 'ERR_COLL_PEER_FAILED',
  message: `all-reduce sum: rank 1 on ${hostname()} has ended`,
  isOurs: true,
  rank: 1,
  operation: 'all-reduce',
  atMillis: 1010,
};

function report(error: Seen | undefined, more: Partial<Report> = {}): Report {
  const part = {
    calls: 5,
    hasOpened: true,
    wrongResult: undefined,
    faultAtMillis: undefined,
    closeMillis: 3,
    before: none,
    after: none,
  };
  return { type: 'report', error, later: error, ...part, ...more };
}

function problemsOf(fault: Fault, ...outcomes: Outcome[]): readonly string[] {
  return verdictOf(scenario(fault), { outcomes, faultAtMillis: 1000 }).problems;
}

it('the verdict on a fault test accepts a run in which all members report the lost member in time', () => {
  const run = { outcomes: [report(lost), 'ended', report(lost)] as const, faultAtMillis: 1000 };
  expect(verdictOf(scenario('kill'), run)).toEqual({ problems: [], millis: [10, 10] });
  expect(problemsOf('none', report(undefined), report(undefined), report(undefined))).toEqual([]);
});

it('the verdict on a fault test accepts reports of a lost member from open or from a later call', () => {
  const opening = { ...lost, operation: 'open a group' };
  const early = report(opening, { hasOpened: false, later: undefined });
  for (const fault of ['opening', 'exit'] as const) expect(problemsOf(fault, early, 'ended', report(lost))).toEqual([]);
  expect(problemsOf('opening', report(undefined), 'ended', report(lost)).join()).toMatch(/rank 0: .*saw no error/);
});

it('the verdict on a fault test expects errors to name members by their first replica', () => {
  const two = (error: Seen) =>
    verdictOf({ ...scenario('kill'), replicas: 2 }, { outcomes: [report(error), 'ended'], faultAtMillis: 1000 })
      .problems;
  expect(two({ ...lost, rank: 2, message: `rank 2, 3 (worker 1) on ${hostname()}` })).toEqual([]);
  expect(two({ ...lost, rank: 4, message: `rank 4, 5 (worker 2) on ${hostname()}` }).join()).toMatch(
    /does not name rank 2/,
  );
});

it.each<[string, Outcome, RegExp]>([
  ['a rank that hangs', 'hung', /rank 2: has hung/],
  ['a rank that the fault kills', 'ended', /rank 2: has ended/],
  ['no error', report(undefined), /saw no error/],
  ['an error of another class', report({ ...lost, name: 'InternalError' }), /not UnavailableError/],
  ['an error of another code', report({ ...lost, code: 'ERR_COLL_INTERNAL' }), /not UnavailableError/],
  ['a rank that is not named', report({ ...lost, rank: 0, message: `on ${hostname()}` }), /does not name rank 1/],
  ['a host that is not named', report({ ...lost, message: 'rank 1' }), /does not name host/],
  ['a late error', report({ ...lost, atMillis: 19_000 }), /took 18000 ms to see/],
  ['a wrong result', report(lost, { wrongResult: 'element 3' }), /wrong result: element 3/],
  ['a call that works after the failure', report(lost, { later: undefined }), /another call/],
  ['a leak', report(lost, { after: { ...none, threads: 12 } }), /1 threads more than before/],
  ['a slow close', report(lost, { closeMillis: 15_000 }), /took 15000 ms to close/],
])('the verdict on a fault test rejects a run with %s', (_, outcome, problem) => {
  expect(problemsOf('kill', report(lost), 'ended', outcome).join('\n')).toMatch(problem);
});

it('the verdict on a fault test rejects different messages, or a wrong rank, for calls that differ', () => {
  const seen: Seen = { ...lost, name: 'InternalError', code: 'ERR_COLL_MISMATCH' };
  const other = report({ ...seen, message: 'other words of rank 1' });
  expect(problemsOf('op', report(seen), report(seen), report(seen))).toEqual([]);
  expect(problemsOf('op', report(seen), report(seen), other).join()).toMatch(/members see other errors/);
  const wrong = report({ ...seen, rank: 2, message: 'rank 2' });
  expect(problemsOf('op', wrong, wrong, wrong).join()).toMatch(/does not name rank 1/);
});

it('the verdict on a fault test expects the code of an error that one member alone has caught', () => {
  const seen = { ...lost, message: 'all-reduce sum: rank 1 caught ERR_COLL_BUFFER in a call' };
  expect(problemsOf('refusal', report(seen), report(seen), report(seen))).toEqual([]);
  const vague = report({ ...seen, message: 'all-reduce sum: rank 1 caught an error in a call' });
  expect(problemsOf('refusal', vague, vague, vague).join()).toMatch(/does not say what was caught/);
});

it('the verdict on a fault test rejects an error in a run without a fault', () => {
  expect(problemsOf('none', report(undefined), report(lost), report(undefined)).join()).toMatch(/rank 1: saw/);
});
