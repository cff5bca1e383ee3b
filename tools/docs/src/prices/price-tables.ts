import { settings } from '../catalogue.ts';
import { formatBytes, formatCount, formatSeconds } from '../format.ts';
import { markdownTable } from '../markdown-table.ts';
import { buffers, gamma, networks, withinWorker } from './networks.ts';
import { type PriceRow, pricedRanks } from './price-rows.ts';

/** The table of the networks. */
export function networksTable(): string {
  const links = [...networks, { name: 'within a worker', words: 'memory or a bus', times: withinWorker }];
  const rows = links.map(({ name, words, times: { alpha, beta, overhead = 0 } }) => [
    name,
    words,
    formatSeconds(alpha),
    `${Number((8e-9 / beta).toPrecision(3))} Gbit/s`,
    formatSeconds(overhead),
  ]);
  const head = [
    'network',
    'example',
    'latency (`alpha`)',
    'rate of a port (`1 / beta`)',
    'time per message (`overhead`)',
  ];
  return `${markdownTable(head, rows, 2)}\n\nA rank combines ${Number((1e-9 / gamma).toPrecision(3))} GB of data per second (\`1 / gamma\`).`;
}

/** A table of times for each network and buffer of a setting. The shortest time of a line is bold. */
export function priceTables(settingName: PriceRow['setting'], rows: readonly PriceRow[]): string {
  const algorithms = settings.find(({ name }) => name === settingName)?.contenders.map(({ name }) => name) ?? [];
  const found = (ranks: number) =>
    algorithms.map((algorithm) =>
      rows.find((row) => row.setting === settingName && row.algorithm === algorithm && row.ranks === ranks),
    );
  const counts = pricedRanks.filter((ranks) => found(ranks).some((row) => row));
  const tables = networks.flatMap(({ name }, network) =>
    buffers.map((bytes, buffer) => {
      const lines = counts.map((ranks) => {
        const seconds = found(ranks).map((row) => row?.seconds[network]?.[buffer]);
        return [formatCount(ranks), ...cellsOf(seconds)];
      });
      return `#### ${name}, ${formatBytes(bytes)}\n\n${markdownTable(['ranks', ...algorithms], lines, 0)}`;
    }),
  );
  return tables.join('\n\n');
}

/** The table of the rounds of each algorithm in a setting. */
export function roundsTable(settingName: PriceRow['setting'], rows: readonly PriceRow[]): string {
  const here = rows.filter(({ setting }) => setting === settingName);
  const algorithms = [...new Set(here.map(({ algorithm }) => algorithm))];
  const counts = [...new Set(here.map(({ ranks }) => ranks))];
  const lines = counts.map((ranks) => [
    formatCount(ranks),
    ...algorithms.map((algorithm) => {
      const row = here.find((each) => each.algorithm === algorithm && each.ranks === ranks);
      return row ? formatCount(row.rounds) : '';
    }),
  ]);
  return markdownTable(['ranks', ...algorithms], lines, 0);
}

function cellsOf(seconds: readonly (number | undefined)[]): string[] {
  const shortest = Math.min(...seconds.map((value) => value ?? Number.POSITIVE_INFINITY));
  return seconds.map((value) => {
    if (value === undefined) return '';
    // Times that look equal in the table are all bold.
    const isShortest = formatSeconds(value) === formatSeconds(shortest);
    return isShortest ? `**${formatSeconds(value)}**` : formatSeconds(value);
  });
}
