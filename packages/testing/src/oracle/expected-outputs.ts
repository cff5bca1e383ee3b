import type { Collective, DType, TypedArray } from '@coll/core';
import { opOf, rootOf } from '@coll/core/plugin';
import type { Round, Schedule } from '@coll/core/schedule';
import { combiner, finisher, type Plain, plainValues } from './plain-arithmetic.js';

export interface Question {
  readonly collective: Collective;
  readonly dtype: DType;
  /** One a rank; for a broadcast only the root's counts. */
  readonly inputs: readonly TypedArray[];
  /** What fixes the order of arithmetic; without one, contributions are combined in the order of ranks. */
  readonly schedule: Schedule | undefined;
}

/** The values of a chunk; never changed, so that ranks share what is copied from one to the other. */
type Piece = readonly Plain[];

/** By rank, then by chunk; undefined where nothing has come yet. */
type Places = (Piece | undefined)[][];

/** What is stored in every rank's output after a collective; undefined where it is not touched. */
export function expectedOutputs(question: Question): (readonly Plain[] | undefined)[] {
  const { collective, dtype, inputs } = question;
  const schedule = question.schedule ?? inRankOrder(collective, inputs.length);
  const places = startOf(question, schedule);
  for (const round of schedule.rounds) playRound(question, places, round);
  const finish = finisher(dtype, opOf(collective), inputs.length);
  const stored = new Map<Piece | undefined, Piece>();
  const storedPiece = (piece: Piece | undefined): Piece => {
    const known = stored.get(piece) ?? (piece ?? []).map(finish);
    stored.set(piece, known);
    return known;
  };
  return places.map((pieces, rank) => {
    if (collective.kind === 'reduce' && rank !== collective.root) return undefined;
    const perBlock = schedule.chunks / inputs.length;
    const isScattered = collective.kind === 'reduce-scatter';
    const own = isScattered ? pieces.slice(rank * perBlock, (rank + 1) * perBlock) : pieces;
    return own.flatMap(storedPiece);
  });
}

/** Everyone to everyone, at once. */
function inRankOrder({ kind, ...rest }: Collective, ranks: number): Schedule {
  const all = Array.from({ length: ranks }, (_, rank) => rank);
  const pairs = all.flatMap((from) => all.filter((to) => to !== from).map((to) => ({ from, to })));
  const chunks = kind === 'all-gather' || kind === 'reduce-scatter' ? ranks : 1;
  const moves = pairs.flatMap(({ from, to }) => {
    if (kind === 'broadcast')
      return 'root' in rest && from === rest.root ? [{ from, to, chunk: 0, reduce: false }] : [];
    if (kind === 'all-gather') return [{ from, to, chunk: from, reduce: false }];
    return all.slice(0, chunks).map((chunk) => ({ from, to, chunk, reduce: true }));
  });
  return { ranks, chunks, rounds: [moves] };
}

function startOf({ collective, dtype, inputs }: Question, { chunks }: Schedule): Places {
  const isGather = collective.kind === 'all-gather';
  const isScatter = collective.kind === 'reduce-scatter';
  const perBlock = chunks / inputs.length;
  return inputs.map((input, rank) => {
    if (collective.kind === 'broadcast' && rank !== rootOf(collective)) return [];
    const values = plainValues(dtype, input);
    if (isGather) return [...new Array<undefined>(rank * perBlock), ...cut(values, perBlock)];
    if (!isScatter) return cut(values, chunks);
    const block = values.length / inputs.length;
    return inputs.flatMap((_, owner) => cut(values.slice(owner * block, (owner + 1) * block), perBlock));
  });
}

/** Pieces of one size, rounded up, so that the last ones may be shorter or empty. */
function cut(values: Piece, pieces: number): Piece[] {
  const size = Math.ceil(values.length / pieces);
  return Array.from({ length: pieces }, (_, piece) => values.slice(piece * size, (piece + 1) * size));
}

function playRound({ collective, dtype }: Question, places: Places, round: Round): void {
  const combine = combiner(dtype, opOf(collective) ?? 'sum');
  const join = (a: Piece, b: Piece): Piece => a.map((value, index) => combine(value, b[index] as Plain));
  const results = stepsOf(round).map(({ to, chunk, operands }) => {
    const pieces = operands.map((rank) => places[rank]?.[chunk] as Piece);
    return { to, chunk, piece: pieces.reduce(join) };
  });
  for (const { to, chunk, piece } of results) (places[to] as Piece[])[chunk] = piece;
}

interface Step {
  readonly to: number;
  readonly chunk: number;
  /** In ascending order, the receiver among them where it keeps what it has. */
  readonly operands: readonly number[];
}

function stepsOf(round: Round): Step[] {
  const receivers = new Map<string, { to: number; chunk: number; operands: number[] }>();
  for (const { from, to, chunk, reduce } of round) {
    const key = `${to}/${chunk}`;
    const step = receivers.get(key) ?? { to, chunk, operands: reduce ? [to] : [] };
    step.operands.push(from);
    receivers.set(key, step);
  }
  for (const { operands } of receivers.values()) operands.sort((a, b) => a - b);
  return [...receivers.values()];
}
