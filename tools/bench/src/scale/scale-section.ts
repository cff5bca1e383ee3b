import { drawLines, type Line } from '../report/line-chart.js';
import { machineName } from '../report/machine.js';
import { markdownTable } from '../report/markdown-table.js';
import { threeDigits } from '../report/numbers.js';
import type { ScaleRow } from './count.js';
import { growthExponent } from './growth-exponent.js';

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

/** The part of docs/internals/scale.md that is made from counts. */
export function scaleSection(rows: readonly ScaleRow[]): string {
  const [first] = rows;
  if (!first) return 'Nothing has been counted yet.';
  const { node, date } = first;
  return [
    `${machineName(first)}, Node ${node}, ${date.slice(0, 10)}.`,
    ...quantities.flatMap((quantity) => [
      `### ${quantity.title}`,
      `![${quantity.title}](../figures/${quantity.file}.svg)`,
      tableOf(rows, quantity),
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

function tableOf(rows: readonly ScaleRow[], { amountOf }: Quantity): string {
  const names = namesOf(rows).filter((name) => rows.some((row) => nameOf(row) === name && amountOf(row) > 0));
  const cellOf = (name: string, ranks: number) => {
    const row = rows.find((each) => nameOf(each) === name && each.ranks === ranks);
    return row ? plain(amountOf(row)) : '';
  };
  const exponents = names.map((name) => {
    const points = rows
      .filter((row) => nameOf(row) === name)
      .map((row) => ({ ranks: row.ranks, value: amountOf(row) }));
    const exponent = growthExponent(points);
    return exponent === undefined ? '' : `**${exponent.toFixed(2)}**`;
  });
  const lines = sizesOf(rows).map((ranks) => [String(ranks), ...names.map((name) => cellOf(name, ranks))]);
  return markdownTable(['ranks', ...names], [...lines, ['exponent', ...exponents]]);
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
