import { type Collective, type CollectiveOp, collectiveOps, nameOf, opOf, rootOf } from '../collectives/collective.js';
import { CollError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { blockCount } from './goal.js';
import type { Round, Schedule, Transfer } from './schedule.js';
import { runSymbolically, wordsOf } from './symbolic-run.js';

/**
 * Proves that a schedule performs a collective, for every input and every timing of the moves
 * within a round, and that no transfer is redundant.
 *
 * @throws CollError (`ERR_COLL_SCHEDULE`) that describes the first problem
 */
export function verify(schedule: Schedule, collective: Collective): void {
  const problem = problemOf(schedule, collective);
  if (problem === undefined) return;
  const operation = nameOf(collective);
  throw new CollError('ERR_COLL_SCHEDULE', `the schedule is not correct for ${operation}: ${problem}`, { operation });
}

/** The first problem of a schedule for this collective, as text; undefined if it is correct. */
export function problemOf(schedule: Schedule, collective: Collective): string | undefined {
  const malformed = shapeProblem(schedule, collective);
  if (malformed !== undefined) return malformed;
  const odd = malformedTransfer(schedule, collective);
  if (!odd) {
    const { invalid, wrong, needless } = runSymbolically(schedule, collective);
    return invalid ?? wrong ?? needless;
  }
  // An earlier transfer may have a problem, which is then the first one.
  return runSymbolically({ ...schedule, rounds: odd.before }, collective).invalid ?? odd.problem;
}

// More than any supported group needs; a larger request is a mistake that would exhaust the memory.
const mostPlaces = 2 ** 26;

function shapeProblem(schedule: Schedule, collective: Collective): string | undefined {
  const { ranks, chunks, rounds } = Object(schedule) as Partial<Schedule>;
  if (ranks === undefined || chunks === undefined || !Array.isArray(rounds))
    return `a schedule must be { ranks, chunks, rounds }, got ${quote(schedule)}`;
  if (!(Number.isInteger(ranks) && ranks >= 1)) return `ranks must be a whole number, 1 or more, got ${ranks}`;
  if (!(Number.isInteger(chunks) && chunks >= 1)) return `chunks must be a whole number, 1 or more, got ${chunks}`;
  if (ranks * chunks > mostPlaces) return `${chunks} chunks are too many for ${ranks} ranks`;
  if (chunks % blockCount(collective.kind, ranks) !== 0) {
    const each = collective.kind === 'all-to-all' ? 'each pair' : 'each';
    return `${chunks} chunks cannot be divided into one block for ${each} of ${ranks} ranks`;
  }
  const root = rootOf(collective);
  if (root !== undefined && !isBelow(ranks, root)) return `root must be one of the ${ranks} ranks, got rank ${root}`;
  const op = opOf(collective);
  const isKnown = op === undefined || collectiveOps.includes(op.toLowerCase() as CollectiveOp);
  return isKnown ? undefined : `unknown op "${op}"`;
}

function isBelow(limit: number, value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < limit;
}

/** The first transfer that cannot be executed whatever the ranks hold. */
interface Malformed {
  readonly problem: string;
  /** The rounds up to this transfer. */
  readonly before: readonly Round[];
}

function malformedTransfer(schedule: Schedule, collective: Collective): Malformed | undefined {
  const { rounds } = schedule;
  const combines = opOf(collective) !== undefined;
  for (const [index, round] of rounds.entries()) {
    const malformed = (problem: string, transfers: Round): Malformed => {
      return { problem: `round ${index}: ${problem}`, before: [...rounds.slice(0, index), transfers] };
    };
    if (!Array.isArray(round)) return malformed(`a round must be a list of transfers, got ${quote(round)}`, []);
    for (const [at, transfer] of round.entries()) {
      const problem = transferProblem(schedule, combines, transfer);
      if (problem !== undefined) return malformed(problem, round.slice(0, at));
    }
  }
  return undefined;
}

function transferProblem({ ranks, chunks }: Schedule, combines: boolean, transfer: Transfer): string | undefined {
  const { from, to, chunk, reduce } = Object(transfer) as Transfer;
  if (typeof reduce !== 'boolean') return `a transfer must be { from, to, chunk, reduce }, got ${quote(transfer)}`;
  if (!isBelow(ranks, from)) return `${wordsOf(transfer)}, but the ranks are 0 to ${ranks - 1}, not ${from}`;
  if (!isBelow(ranks, to)) return `${wordsOf(transfer)}, but the ranks are 0 to ${ranks - 1}, not ${to}`;
  if (!isBelow(chunks, chunk)) return `${wordsOf(transfer)}, but the chunks are 0 to ${chunks - 1}`;
  if (from === to) return `${wordsOf(transfer)}, but a rank cannot send to itself`;
  if (reduce && !combines) return `${wordsOf(transfer)}, but this collective does not reduce`;
  return undefined;
}
