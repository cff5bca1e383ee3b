import type { Collective, DType, TypedArray } from '@coll/core';
import { opOf, rootOf } from '@coll/core/plugin';
import { hasBlocks, type Round, type Schedule } from '@coll/core/schedule';
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
    if ((collective.kind === 'reduce' || collective.kind === 'gather') && rank !== collective.root) return undefined;
    return chunksOf(collective, schedule, rank).flatMap((chunk) => storedPiece(pieces[chunk]));
  });
}

/** Everyone to everyone, at once. */
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
    // Its place among the blocks of all ranks.
    const isOwnBlock = kind === 'all-gather' || kind === 'gather' || kind === 'all-to-all';
    return isOwnBlock ? [...new Array<undefined>(rank * pieces.length), ...pieces] : pieces;
  });
}

/** The chunks of a rank's output, in its order. */
function chunksOf({ kind }: Collective, { ranks, chunks }: Schedule, rank: number): number[] {
  const from = (begin: number, count: number) => Array.from({ length: count }, (_, chunk) => begin + chunk);
  if (kind === 'reduce-scatter' || kind === 'scatter') return from((rank * chunks) / ranks, chunks / ranks);
  if (kind !== 'all-to-all') return from(0, chunks);
  const perBlock = chunks / (ranks * ranks);
  return from(0, ranks).flatMap((sender) => from((sender * ranks + rank) * perBlock, perBlock));
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
