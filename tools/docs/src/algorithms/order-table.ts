import type { Algorithm, Collective } from '@coll/core';
import { arithmeticOf, type Schedule } from '@coll/core/schedule';
import { allReduce } from '../catalogue.ts';
import { markdownTable } from '../markdown-table.ts';

const collectives: readonly (readonly [title: string, Collective])[] = [
  ['all-reduce', allReduce],
  ['reduce to rank 1', { kind: 'reduce', op: 'sum', root: 1 }],
  ['reduce-scatter', { kind: 'reduce-scatter', op: 'sum' }],
];

/**
 * The order in which an algorithm combines each chunk, and the rank that completes it, for every collective
 * with an op.
 */
export function orderTable(algorithm: Algorithm, ranks: number): string {
  const columns = collectives.flatMap(([title, collective]) => {
    if (algorithm.refuses?.(collective, ranks) !== undefined) return [];
    const schedule = algorithm.plan(collective, ranks);
    return [{ title, cells: arithmeticOf(schedule, collective).map((ways, chunk) => cellOf(schedule, ways, chunk)) }];
  });
  const chunks = Math.max(...columns.map(({ cells }) => cells.length));
  const rows = Array.from({ length: chunks }, (_, chunk) => [
    `${chunk}`,
    ...columns.map(({ cells }) => cells[chunk] ?? ''),
  ]);
  return markdownTable(['chunk', ...columns.map(({ title }) => title)], rows, Number.POSITIVE_INFINITY);
}

function cellOf(schedule: Schedule, ways: readonly string[], chunk: number): string {
  return `\`${ways.join('` or `')}\`, at rank ${completedAt(schedule, chunk)}`;
}

/** The rank that combines the last contribution to a chunk. */
function completedAt({ rounds }: Schedule, chunk: number): number | undefined {
  return rounds.flat().findLast((transfer) => transfer.reduce && transfer.chunk === chunk)?.to;
}
