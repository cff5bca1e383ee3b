import { settings } from '../catalogue.ts';
import { formatBytes, formatSeconds } from '../format.ts';
import { markdownTable } from '../markdown-table.ts';
import { buffers, networks } from '../prices/networks.ts';
import { type Comparison, largestDifference } from './comparison.ts';

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
