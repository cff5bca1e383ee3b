import type { Round, Schedule, Transfer } from '@coll/core/schedule';

const columnWidth = 110;
const roundHeight = 80;
const left = 84;
const top = 40;

/** Told apart with any kind of sight: Okabe and Ito's colours, without yellow and black. */
const colors = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];

/** How far along an arrow its label stands, by how many ranks it goes: so that few of those that cross cover each other. */
const labelPlaces = [0.3, 0.14, 0.19];

/** Chunks that go from one rank to another in a round. */
interface Arrow {
  readonly from: number;
  readonly to: number;
  readonly chunks: readonly number[];
  readonly reduce: boolean;
}

/**
 * A picture of a schedule: ranks stand next to each other, time runs down. An arrow is a move, with the numbers of its chunks; a
 * solid one is combined where it ends, a dashed one is copied.
 */
export function spaceTimePicture(title: string, { ranks, rounds }: Schedule): string {
  const width = left + (ranks - 1) * columnWidth + 48;
  const height = top + rounds.length * roundHeight + 24;
  const everyone = Array.from({ length: ranks }, (_, rank) => rank);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<title>${title}</title>`,
    '<rect width="100%" height="100%" fill="#ffffff"/>',
    '<defs>',
    ...colors.map(headOf),
    '</defs>',
    ...everyone.flatMap((rank) => lifeOf(rank, rounds.length)),
    ...rounds.map((_, round) => text(8, bandOf(round) + roundHeight / 2 + 4, `round ${round}`, '#57606a', 'start')),
    ...rounds.flatMap((round, index) => arrowsOf(round).map((arrow) => drawn(arrow, index))),
    ...everyone.flatMap((rank) => momentsOf(rank, rounds.length)),
    '</svg>',
    '',
  ].join('\n');
}

const columnOf = (rank: number): number => left + rank * columnWidth;
const bandOf = (round: number): number => top + round * roundHeight;

function headOf(color: string): string {
  const shape = `<path d="M0 0L8 4L0 8z" fill="${color}"/>`;
  return `<marker id="${color.slice(1)}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">${shape}</marker>`;
}

function lifeOf(rank: number, rounds: number): string[] {
  const x = columnOf(rank);
  return [
    text(x, top - 18, `rank ${rank}`, '#1f2328', 'middle'),
    `<path d="M${x} ${bandOf(0)}V${bandOf(rounds)}" stroke="#d0d7de"/>`,
  ];
}

function momentsOf(rank: number, rounds: number): string[] {
  const moments = Array.from({ length: rounds + 1 }, (_, round) => bandOf(round));
  return moments.map((y) => `<circle cx="${columnOf(rank)}" cy="${y}" r="4" fill="#1f2328"/>`);
}

function drawn({ from, to, chunks, reduce }: Arrow, round: number): string {
  const color = colors[(chunks[0] as number) % colors.length] as string;
  const [x1, y1, x2, y2] = [columnOf(from), bandOf(round) + 4, columnOf(to), bandOf(round + 1) - 4];
  // Many arrows may meet where they are combined, and part where they are copied: there is room at the other end.
  const place = labelPlaces[Math.abs(to - from) - 1] ?? 0.2;
  const share = reduce ? place : 1 - place;
  const [x, y] = [x1 + (x2 - x1) * share, y1 + (y2 - y1) * share + 4];
  const dashes = reduce ? '' : ' stroke-dasharray="5 3"';
  return [
    `<path d="M${x1} ${y1}L${x2} ${y2}" stroke="${color}" stroke-width="1.5"${dashes} marker-end="url(#${color.slice(1)})"/>`,
    text(round2(x), round2(y), chunks.join(','), color, 'middle'),
  ].join('');
}

function text(x: number, y: number, words: string, color: string, anchor: string): string {
  const halo = 'stroke="#ffffff" stroke-width="4" paint-order="stroke"';
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${color}" ${halo}>${words}</text>`;
}

function arrowsOf(round: Round): Arrow[] {
  const arrows = new Map<string, Arrow>();
  for (const { from, to, chunk, reduce } of round) {
    const key = keyOf({ from, to, chunk, reduce });
    arrows.set(key, { from, to, reduce, chunks: [...(arrows.get(key)?.chunks ?? []), chunk] });
  }
  return [...arrows.values()].map((arrow) => ({ ...arrow, chunks: arrow.chunks.toSorted((a, b) => a - b) }));
}

function keyOf({ from, to, reduce }: Transfer): string {
  return `${from} ${to} ${reduce}`;
}

function round2(value: number): number {
  return Math.round(value * 100) / 100;
}
