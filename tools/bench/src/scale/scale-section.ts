import { threeDigits } from '../report/cells.js';
import { drawLines, type Line } from '../report/line-chart.js';
import { machineName } from '../report/machine.js';
import { type Column, tableOf } from '../report/table.js';
import type { ScaleRow } from './count.js';

interface Quantity {
  readonly title: string;
  readonly file: string;
  amountOf(row: ScaleRow): number;
}

const quantities: readonly Quantity[] = [
  { title: 'Memory per rank in MiB', file: 'scale-memory', amountOf: ({ memoryBytes }) => memoryBytes / 2 ** 20 },
  { title: 'Connections per rank', file: 'scale-connections', amountOf: ({ connections }) => connections },
  {
    title: 'Connections per rank that carry data',
    file: 'scale-data-connections',
    amountOf: ({ dataConnections }) => dataConnections,
  },
  { title: 'Segments with data per rank and call', file: 'scale-messages', amountOf: ({ messages }) => messages },
  {
    title: 'Segments of control messages per rank and call',
    file: 'scale-control-messages',
    amountOf: ({ controlMessages }) => controlMessages,
  },
];

const colors = ['#d1242f', '#0969da', '#1a7f37', '#8250df'];

/** The generated part of docs/internals/scale.md. */
export function scaleSection(rows: readonly ScaleRow[]): string {
  const [first] = rows;
  if (!first) return 'Nothing has been counted yet.';
  const { node, date } = first;
  return [
    `${machineName(first)}, Node ${node}, ${date.slice(0, 10)}.`,
    ...quantities.flatMap((quantity) => [
      `### ${quantity.title}`,
      `![${quantity.title}](../figures/${quantity.file}.svg)`,
      tableFor(rows, quantity),
    ]),
  ].join('\n\n');
}

/** The pictures of docs/internals/scale.md: one per quantity, with a line per transport and algorithm. */
export function scaleCharts(rows: readonly ScaleRow[]): { readonly file: string; readonly svg: string }[] {
  const sizes = sizesOf(rows);
  if (sizes.length === 0) return [];
  return quantities.map((quantity) => ({
    file: `${quantity.file}.svg`,
    svg: drawLines(quantity.title, sizes.map(String), linesOf(rows, quantity)),
  }));
}

function tableFor(rows: readonly ScaleRow[], { amountOf }: Quantity): string {
  const columns = namesOf(rows).map((name): Column<number | 'exponent'> => {
    const own = rows.filter((row) => nameOf(row) === name);
    const points = own.map((row) => ({ ranks: row.ranks, value: amountOf(row) }));
    const exponent = growthExponent(points);
    const cells = new Map<number | 'exponent', string>(points.map(({ ranks, value }) => [ranks, plain(value)]));
    if (exponent !== undefined) cells.set('exponent', `**${exponent.toFixed(2)}**`);
    const isShown = points.some(({ value }) => value > 0);
    return { title: name, cellOf: (line) => (isShown && cells.get(line)) || '' };
  });
  return tableOf([{ title: 'ranks', cellOf: String, isLeft: true }, ...columns], [...sizesOf(rows), 'exponent']);
}

function linesOf(rows: readonly ScaleRow[], { amountOf }: Quantity): Line[] {
  return namesOf(rows).map((name, index) => ({
    name,
    color: colors[index % colors.length] as string,
    values: sizesOf(rows).map((ranks) => {
      const row = rows.find((each) => nameOf(each) === name && each.ranks === ranks);
      return row && amountOf(row) > 0 ? amountOf(row) : undefined;
    }),
  }));
}

function sizesOf(rows: readonly ScaleRow[]): number[] {
  return [...new Set(rows.map(({ ranks }) => ranks))].sort((a, b) => a - b);
}

const namesOf = (rows: readonly ScaleRow[]) => [...new Set(rows.map(nameOf))];

function nameOf({ transport, algorithm }: ScaleRow): string {
  return transport === 'tcp' ? `${algorithm}, TCP` : `${algorithm}, shared memory`;
}

const plain = (value: number) => (Number.isInteger(value) ? String(value) : threeDigits(value));

/**
 * The exponent `e` of the growth `ranks ** e`, by a least-squares fit of the logarithms. Undefined for
 * fewer than two points, or if a value is 0.
 */
export function growthExponent(
  points: readonly { readonly ranks: number; readonly value: number }[],
): number | undefined {
  if (points.length < 2 || points.some(({ value }) => value <= 0)) return undefined;
  const logs = points.map(({ ranks, value }) => [Math.log(ranks), Math.log(value)] as const);
  const mean = (which: 0 | 1) => logs.reduce((sum, pair) => sum + pair[which], 0) / logs.length;
  const [x, y] = [mean(0), mean(1)];
  const products = logs.reduce((sum, pair) => sum + (pair[0] - x) * (pair[1] - y), 0);
  const squares = logs.reduce((sum, pair) => sum + (pair[0] - x) ** 2, 0);
  return products / squares;
}
