import { hostname } from 'node:os';
import type { ErrorCode } from '@coll/core';
import type { Report, Seen } from './messages.ts';
import { leakBetween } from './resources.ts';
import type { Outcome, ScenarioRun } from './run-scenario.ts';
import { disagreements, endsProcess, type Fault, isSilent, type Scenario } from './scenario.ts';

/** What the members must see. */
export interface Expected {
  readonly class: string;
  readonly code: ErrorCode;
  /** All see one message. */
  readonly isSame?: boolean;
  /** The message names the host of the member that is lost. */
  readonly namesHost?: boolean;
}

const lost: Expected = { class: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED', namesHost: true };
const mismatch: Expected = { class: 'InternalError', code: 'ERR_COLL_MISMATCH', isSame: true };

/** By fault; those of `order` depend on what the two calls are. */
export const expectations: Readonly<Record<Exclude<Fault, 'none'>, Expected>> = {
  kill: lost,
  'kill two': lost,
  stop: lost,
  cut: lost,
  'cut one': lost,
  silence: lost,
  exit: lost,
  throw: { class: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED' },
  leave: { class: 'RuntimeError', code: 'ERR_COLL_CLOSED' },
  last: { class: 'RuntimeError', code: 'ERR_COLL_CLOSED' },
  late: { class: 'DeadlineExceededError', code: 'ERR_COLL_DEADLINE' },
  abort: { class: 'AbortedError', code: 'ERR_COLL_ABORTED' },
  absent: { class: 'DeadlineExceededError', code: 'ERR_COLL_DEADLINE' },
  opening: lost,
  keeper: { class: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED' },
  kind: mismatch,
  op: mismatch,
  dtype: { class: 'InternalError', code: 'ERR_COLL_DTYPE_MISMATCH', isSame: true },
  length: { class: 'InvalidArgumentError', code: 'ERR_COLL_SHAPE_MISMATCH', isSame: true },
  order: mismatch,
  refusal: { class: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED', isSame: true },
};

const whileOpening: readonly Fault[] = ['absent', 'opening', 'keeper'];
const disagreementCodes: readonly (ErrorCode | undefined)[] = [
  'ERR_COLL_MISMATCH',
  'ERR_COLL_DTYPE_MISMATCH',
  'ERR_COLL_SHAPE_MISMATCH',
];

/** What a scenario has shown. */
export interface Verdict {
  /** What is wrong with the library; nothing where all is well. */
  readonly problems: readonly string[];
  /** From the fault to the error, of each member that saw one. */
  readonly millis: readonly number[];
}

// An error that is reported at once must arrive within this time, on a busy machine, too.
const promptMillis = 10_000;

export function verdictOf(scenario: Scenario, { outcomes, faultAtMillis }: ScenarioRun): Verdict {
  const problems: string[] = [];
  const millis: number[] = [];
  outcomes.forEach((outcome, rank) => {
    const complain = (problem: string) => problems.push(`rank ${rank}: ${problem}`);
    if (outcome === 'hung') complain('has hung');
    else if (outcome === 'ended') {
      if (!mayEnd(scenario, rank)) complain('has ended');
    } else {
      for (const problem of problemsOf(outcome)) complain(problem);
      if (scenario.fault === 'none') {
        if (outcome.error) complain(`saw ${textOf(outcome.error)} though nothing went wrong`);
        return;
      }
      for (const problem of errorProblems(scenario, rank, outcome)) complain(problem);
      const began = outcome.faultAtMillis ?? faultOf(scenario, outcomes) ?? faultAtMillis;
      if (rank === scenario.victim || !outcome.error || began === undefined) return;
      const took = outcome.error.atMillis - began;
      millis.push(took);
      const limit = promptMillis + (isSilent(scenario.fault) ? scenario.heartbeatSeconds * 1000 : 0);
      if (took > limit) complain(`took ${Math.round(took)} ms to see ${textOf(outcome.error)}`);
    }
  });
  return { problems: [...problems, ...sameProblems(scenario, outcomes)], millis };
}

function mayEnd(scenario: Scenario, rank: number): boolean {
  const { fault, victim, other } = scenario;
  if (rank === victim && endsProcess(scenario)) return true;
  if (fault === 'kill two' && rank === other) return true;
  return rank === victim && ['kill', 'kill two', 'exit', 'opening', 'keeper'].includes(fault);
}

/** When the rank that did it says it did. */
function faultOf({ fault, victim, other }: Scenario, outcomes: readonly Outcome[]): number | undefined {
  const outcome = outcomes[fault === 'abort' ? other : victim];
  return typeof outcome === 'object' ? outcome.faultAtMillis : undefined;
}

/** What may be wrong on any rank, whatever has happened. */
function problemsOf({ wrongResult, error, later, before, after, closeMillis }: Report): string[] {
  const leak = leakBetween(before, after);
  return [
    ...(wrongResult === undefined ? [] : [`wrong result: ${wrongResult}`]),
    ...(later && !later.isOurs ? [`a call after ${error?.name} threw ${textOf(later)}`] : []),
    ...(leak === undefined ? [] : [`holds ${leak}`]),
    ...(closeMillis > promptMillis ? [`took ${Math.round(closeMillis)} ms to close its group`] : []),
  ];
}

function errorProblems(scenario: Scenario, rank: number, { error, later, calls, hasOpened }: Report): string[] {
  const { fault, victim } = scenario;
  const isItsOwn = rank === victim && ['throw', 'absent', 'leave', 'last', 'late', 'abort'].includes(fault);
  if (!error) return [`made ${calls} calls and saw no error`];
  if (isItsOwn) return [];
  const problems: string[] = [];
  const expected = expectations[fault as Exclude<Fault, 'none'>];
  const isRight =
    fault === 'order'
      ? disagreementCodes.includes(error.code)
      : error.name === expected.class && error.code === expected.code;
  if (!isRight) problems.push(`saw ${textOf(error)}, not ${expected.class} ${expected.code}`);
  if (hasOpened && later === undefined) problems.push('made another call after the group had failed');
  if (rank === victim && !disagreements.includes(fault)) return problems;
  const culprits = culpritsOf(scenario, rank, hasOpened);
  if (culprits && !(error.rank !== undefined && culprits.includes(error.rank)) && !namesRank(error, culprits))
    problems.push(`does not name rank ${culprits.join(' or ')}: ${textOf(error)}`);
  if (expected.namesHost && !error.message.includes(hostname()))
    problems.push(`does not name host ${hostname()}: ${textOf(error)}`);
  if (fault === 'refusal' && !error.message.includes('ERR_COLL_BUFFER'))
    problems.push(`does not say what was caught: ${textOf(error)}`);
  if (fault === 'throw' && !error.message.includes(`the trouble of seed ${scenario.seed}`))
    problems.push(`does not say what was thrown: ${textOf(error)}`);
  if (error.operation === undefined) problems.push(`does not name the operation: ${textOf(error)}`);
  return problems;
}

/** Who is to be named; undefined where nobody can tell. */
function culpritsOf(scenario: Scenario, rank: number, hasOpened: boolean): readonly number[] | undefined {
  const members = culpritMembers(scenario, rank);
  // While the group opens, nobody knows of replicas.
  const isOpening = !hasOpened || whileOpening.includes(scenario.fault);
  const counts = isOpening ? [1, scenario.replicas] : [scenario.replicas];
  return members && counts.flatMap((replicas) => members.map((member) => member * replicas));
}

function culpritMembers({ fault, size, victim, other }: Scenario, rank: number): readonly number[] | undefined {
  if (disagreements.includes(fault) && fault !== 'refusal') return size > 2 ? [victim] : undefined;
  if (fault === 'abort') return [other, rank];
  if (fault === 'cut one' || fault === 'kill two') return [victim, other];
  return [victim];
}

/** Deadlines are of the rank that waits; the message names who did not arrive. */
function namesRank({ message }: Seen, culprits: readonly number[]): boolean {
  const ranks = message.replaceAll(/ \(worker \d+\)/g, '');
  return culprits.some((rank) => new RegExp(`\\b${rank}\\b`).test(ranks));
}

function sameProblems(scenario: Scenario, outcomes: readonly Outcome[]): string[] {
  if (scenario.fault === 'none' || !expectations[scenario.fault].isSame) return [];
  const errors = outcomes.flatMap((outcome, rank) =>
    typeof outcome === 'object' && outcome.error && (rank !== scenario.victim || scenario.fault !== 'throw')
      ? [outcome.error.message]
      : [],
  );
  const messages = [...new Set(errors)];
  return messages.length > 1 ? [`members see other errors: ${messages.join(' / ')}`] : [];
}

function textOf({ name, code, message }: Seen): string {
  return `${name} ${code ?? ''}: ${message}`;
}
