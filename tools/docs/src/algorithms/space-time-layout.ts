import type { Round, Schedule } from '@coll/core/schedule';

const left = 84;
const top = 40;

/** The colors of Okabe and Ito without yellow and black, which people with any kind of color vision can distinguish. */
export const colors = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];

/** Position of an arrow's label along the arrow, by the number of ranks it crosses, so that few labels of crossing arrows overlap. */
const labelPlaces = [0.3, 0.14, 0.19];

/** The chunks that one rank sends to another in a round. */
interface Message {
  readonly from: number;
  readonly to: number;
  readonly chunks: readonly number[];
  readonly reduce: boolean;
}

/** A message, drawn from its sender at the start of a round to its receiver at the end. */
export interface Arrow extends Message {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
  readonly color: string;
  readonly label: { readonly x: number; readonly y: number; readonly text: string };
}

/** Positions in a space-time diagram, in pixels: ranks are columns, and time runs down. */
export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly roundHeight: number;
  /** The x coordinate of each rank. */
  readonly columns: readonly number[];
  /** The y coordinates of the start of each round, and of the end of the last one. */
  readonly moments: readonly number[];
  readonly arrows: readonly Arrow[];
}

/** Sizes in pixels. Default: 110 between ranks, 80 per round. */
interface Spacing {
  readonly columnWidth?: number;
  readonly roundHeight?: number;
}

/** Lays out a space-time diagram of a schedule. */
export function layOut(
  { ranks, rounds }: Pick<Schedule, 'ranks' | 'rounds'>,
  { columnWidth = 110, roundHeight = 80 }: Spacing = {},
): Layout {
  const columns = Array.from({ length: ranks }, (_, rank) => left + rank * columnWidth);
  const moments = Array.from({ length: rounds.length + 1 }, (_, round) => top + round * roundHeight);
  const ends = (round: number) => [moments[round] as number, moments[round + 1] as number] as const;
  return {
    width: left + (ranks - 1) * columnWidth + 48,
    height: top + rounds.length * roundHeight + 24,
    roundHeight,
    columns,
    moments,
    arrows: rounds.flatMap((round, index) =>
      messagesOf(round).map((message) => arrowOf(message, columns, ends(index))),
    ),
  };
}

function arrowOf(
  message: Message,
  columns: readonly number[],
  [begin, end]: readonly [begin: number, end: number],
): Arrow {
  const { from, to, chunks, reduce } = message;
  const [x1, y1, x2, y2] = [columns[from] as number, begin + 4, columns[to] as number, end - 4];
  // Many arrows may end at a rank that combines, and many may start at a rank that copies. Labels are near the other
  // end.
  const place = labelPlaces[Math.abs(to - from) - 1] ?? 0.2;
  const share = reduce ? place : 1 - place;
  const label = { x: round2(x1 + (x2 - x1) * share), y: round2(y1 + (y2 - y1) * share + 4), text: chunks.join(',') };
  return { ...message, x1, y1, x2, y2, color: colors[(chunks[0] as number) % colors.length] as string, label };
}

function messagesOf(round: Round): Message[] {
  const messages = new Map<string, Message>();
  for (const { from, to, chunk, reduce } of round) {
    const key = `${from} ${to} ${reduce}`;
    messages.set(key, { from, to, reduce, chunks: [...(messages.get(key)?.chunks ?? []), chunk] });
  }
  return [...messages.values()].map((message) => ({ ...message, chunks: message.chunks.toSorted((a, b) => a - b) }));
}

function round2(value: number): number {
  return Math.round(value * 100) / 100;
}
