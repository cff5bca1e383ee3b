import { casesAmong, settings } from '../catalogue.ts';
import { formatBytes, formatSeconds } from '../format.ts';
import { readRows } from '../json-lines.ts';
import { markdownTable } from '../markdown-table.ts';
import { buffers, networks } from '../prices/networks.ts';
import { type PriceRow, priceOf } from '../prices/price-rows.ts';
import { presentFingerprint, type SimulatedRow, simulatedRanks } from './simulated-rows.ts';

/** The checked-in times of the simulator for a case, and the times that `cost` computes. */
export interface Comparison {
  readonly simulated: SimulatedRow;
  readonly priced: PriceRow['seconds'];
}

/** The comparisons of all cases. @throws Error if the checked-in rows lack a case, or are about a different schedule */
export function comparisons(): Comparison[] {
  const rows = readRows<SimulatedRow>('simulated');
  return [...casesAmong(simulatedRanks)].map((each) => {
    const { setting, name, ranks } = each;
    const simulated = rows.find((row) => row.setting === setting.name && row.algorithm === name && row.ranks === ranks);
    if (simulated?.fingerprint !== presentFingerprint(each)) {
      throw new Error(`${name}, ${setting.name}, ${ranks} ranks: simulate again, npm run simulate -w @coll/docs`);
    }
    return { simulated, priced: priceOf(each).seconds };
  });
}

/** The largest difference between the two, as a share of the simulated time. */
export function largestDifference({ simulated, priced }: Comparison): number {
  const differences = simulated.seconds.flatMap((byBuffer, network) =>
    byBuffer.map((seconds, buffer) => Math.abs((priced[network]?.[buffer] ?? Number.NaN) / seconds - 1)),
  );
  return Math.max(...differences);
}

// The middle buffer, whose time depends on both latency and bandwidth.
const shownBuffer = 1;

/**
 * The table of the comparison: for every algorithm, the largest difference over all groups and buffers, and
 * both times of the largest group.
 */
export function comparisonTable(comparisons: readonly Comparison[]): string {
  const rows = settings.flatMap(({ name, contenders }) =>
    contenders.map((contender) => {
      const here = comparisons.filter(
        ({ simulated: { setting, algorithm } }) => setting === name && algorithm === contender.name,
      );
      const largest = here.at(-1) as Comparison;
      return [
        name,
        contender.name,
        `${here.length * networks.length * buffers.length}`,
        `${(Math.max(...here.map(largestDifference)) * 100).toFixed(3)} %`,
        ...networks.flatMap((_, network) =>
          [largest.priced, largest.simulated.seconds].map((seconds) =>
            formatSeconds(seconds[network]?.[shownBuffer] as number),
          ),
        ),
      ];
    }),
  );
  const size = formatBytes(buffers[shownBuffer] as number);
  const head = ['', 'algorithm', 'trials', 'largest difference'];
  const times = networks.flatMap(({ name }) => [`${name}, ${size}: \`cost\``, 'SimGrid']);
  return markdownTable([...head, ...times], rows, 2);
}
