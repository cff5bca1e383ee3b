import { readFileSync } from 'node:fs';
import { collectiveKinds } from '@coll/core/plugin';
import { numbersTable } from './algorithms/numbers-table.ts';
import { orderTable } from './algorithms/order-table.ts';
import { spaceTimePicture } from './algorithms/space-time.ts';
import { allReduce, type Contender, drawn } from './catalogue.ts';
import { readRows } from './json-lines.ts';
import { gradientsTable, packsTable } from './packs/pack-examples.ts';
import type { PriceRow } from './prices/price-rows.ts';
import { networksTable, priceTables, roundsTable } from './prices/price-tables.ts';
import { withParts } from './sections.ts';
import { comparisons, comparisonTable } from './simulation/comparison.ts';

const root = new URL('../../../', import.meta.url);

/** The number of ranks in pictures, and in the tables beside them. */
const drawnRanks = 4;

/** The files of the docs that are made from schedules, packs and figures, by their paths, with their current texts. */
export function madeFiles(): Map<string, string> {
  const pages = [
    ['docs/explanation/algorithms.md', algorithmParts()],
    ['docs/guides/overlap-and-packing.md', packParts()],
    ['docs/internals/costs.md', costParts()],
  ] as const;
  return new Map([
    ...drawn.map(
      (contender) => [`docs/${pictureOf(contender)}`, spaceTimePicture(titleOf(contender), planOf(contender))] as const,
    ),
    ...pages.map(([file, parts]) => [file, withParts(readFileSync(new URL(file, root), 'utf8'), parts)] as const),
  ]);
}

/** The location of a made file. */
export function urlOf(file: string): URL {
  return new URL(file, root);
}

function algorithmParts(): Map<string, string> {
  return new Map([
    ...drawn.map((contender) => [contender.name, orderOf(contender)] as const),
    ...collectiveKinds.map((kind) => [kind, numbersTable(kind)] as const),
  ]);
}

function packParts(): Map<string, string> {
  return new Map([
    ['tensors', gradientsTable()],
    ['packs', packsTable()],
  ]);
}

function costParts(): Map<string, string> {
  const prices = readRows<PriceRow>('prices');
  return new Map([
    ['networks', networksTable()],
    ['flat rounds', roundsTable('flat', prices)],
    ['flat', priceTables('flat', prices)],
    ['two-level rounds', roundsTable('two-level', prices)],
    ['two-level', priceTables('two-level', prices)],
    ['simulation', comparisonTable(comparisons())],
  ]);
}

function orderOf(contender: Contender): string {
  const picture = `![${titleOf(contender)}](../${pictureOf(contender)})`;
  return `${picture}\n\n${orderTable(contender.algorithmFor(drawnRanks), drawnRanks)}`;
}

function planOf({ algorithmFor }: Contender) {
  return algorithmFor(drawnRanks).plan(allReduce, drawnRanks);
}

function titleOf({ name }: Contender): string {
  return `All-reduce between ${drawnRanks} ranks: ${name}`;
}

function pictureOf({ name }: Contender): string {
  return `figures/schedules/${name.replace('/', '-')}.svg`;
}
