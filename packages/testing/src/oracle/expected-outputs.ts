import type { Collective, DType, TypedArray } from '@coll/core';
import { opOf, rootOf } from '@coll/core/plugin';
import { hasBlocks, type Round, type Schedule } from '@coll/core/schedule';
import { combiner, finisher, type Plain, plainValues } from './plain-arithmetic.js';

export interface Question {
  readonly collective: Collective;
  readonly dtype: DType;
  /** The inputs, one per rank. A broadcast or a scatter uses only the input of the root. */
  readonly inputs: readonly TypedArray[];
  /**
   * The schedule, which determines the order of arithmetic. Undefined means that contributions are
   * combined in rank order.
   */
  readonly schedule: Schedule | undefined;
}

/**
 * The values of a chunk on a rank. A piece is never changed, so several ranks can have the same
 * piece.
 */
type Piece = readonly Plain[];

/**
 * The pieces of all chunks, by rank, then by chunk; undefined for chunks that a rank does not have.
 */
type Places = (Piece | undefined)[][];

/**
 * For each rank, the expected elements of its output after a collective; undefined if the
 * collective does not change the output.
 */
export function expectedOutputs(question: Question): (readonly Plain[] | undefined)[] {
  const { collective, dtype, inputs } = question;
  const schedule = question.schedule ?? inRankOrder(collective, inputs.length);
  const places = startOf(question, schedule);
  for (const round of schedule.rounds) applyRound(question, places, round);
  const finish = finisher(dtype, opOf(collective), inputs.length);
  const stored = new Map<Piece | undefined, Piece>();
  const storedPiece = (piece: Piece | undefined): Piece => {
    const known = stored.get(piece) ?? (piece ?? []).map(finish);
    stored.set(piece, known);
    return known;
  };
  return places.map((pieces, rank) => {
    if ((collective.kind === 'reduce' || collective.kind === 'gather') && rank !== collective.root) return undefined;
    return chunksOf(collective, schedule, rank).flatMap((chunk) => storedPiece(pieces[chunk]));
  });
}

/** Makes a schedule of one round, in which ranks send their chunks directly to each other. */
function inRankOrder({ kind, ...rest }: Collective, ranks: number): Schedule {
  const all = Array.from({ length: ranks }, (_, rank) => rank);
  const pairs = all.flatMap((from) => all.filter((to) => to !== from).map((to) => ({ from, to })));
  const isAtRoot = (rank: number) => 'root' in rest && rank === rest.root;
  const chunks = kind === 'all-to-all' ? ranks * ranks : hasBlocks(kind) ? ranks : 1;
  const moves = pairs.flatMap(({ from, to }) => {
    const copy = (chunk: number) => [{ from, to, chunk, reduce: false }];
    if (kind === 'broadcast') return isAtRoot(from) ? copy(0) : [];
    if (kind === 'scatter') return isAtRoot(from) ? copy(to) : [];
    if (kind === 'gather') return isAtRoot(to) ? copy(from) : [];
    if (kind === 'all-gather') return copy(from);
    if (kind === 'all-to-all') return copy(from * ranks + to);
    return all.slice(0, chunks).map((chunk) => ({ from, to, chunk, reduce: true }));
  });
  return { ranks, chunks, rounds: [moves] };
}

function startOf({ collective, dtype, inputs }: Question, { chunks }: Schedule): Places {
  const ranks = inputs.length;
  const { kind } = collective;
  return inputs.map((input, rank) => {
    if ((kind === 'broadcast' || kind === 'scatter') && rank !== rootOf(collective)) return [];
    const values = plainValues(dtype, input);
    const blocks = kind === 'reduce-scatter' || kind === 'scatter' || kind === 'all-to-all' ? ranks : 1;
    const count = values.length / blocks;
    const perBlock = chunks / (kind === 'all-to-all' ? ranks * ranks : hasBlocks(kind) ? ranks : 1);
    const pieces = Array.from({ length: blocks }, (_, block) =>
      cut(values.slice(block * count, (block + 1) * count), perBlock),
    ).flat();
    // The pieces of this rank come after those of lower ranks.
    const isOwnBlock = kind === 'all-gather' || kind === 'gather' || kind === 'all-to-all';
    return isOwnBlock ? [...new Array<undefined>(rank * pieces.length), ...pieces] : pieces;
  });
}

/** The indices of the chunks that make up a rank's output, in order. */
function chunksOf({ kind }: Collective, { ranks, chunks }: Schedule, rank: number): number[] {
  const from = (begin: number, count: number) => Array.from({ length: count }, (_, chunk) => begin + chunk);
  if (kind === 'reduce-scatter' || kind === 'scatter') return from((rank * chunks) / ranks, chunks / ranks);
  if (kind !== 'all-to-all') return from(0, chunks);
  const perBlock = chunks / (ranks * ranks);
  return from(0, ranks).flatMap((sender) => from((sender * ranks + rank) * perBlock, perBlock));
}

/** Cuts values into pieces of equal size, rounded up, so the last ones may be shorter or empty. */
function cut(values: Piece, pieces: number): Piece[] {
  const size = Math.ceil(values.length / pieces);
  return Array.from({ length: pieces }, (_, piece) => values.slice(piece * size, (piece + 1) * size));
}

function applyRound({ collective, dtype }: Question, places: Places, round: Round): void {
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
  /**
   * The ranks whose pieces are combined, in ascending order. The receiver is one of them if it adds
   * to its own piece.
   */
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
