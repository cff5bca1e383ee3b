import { peersOver } from '../peers/peers.js';
import { formatBytes } from '../sizes.js';
import { type InputKind, inputKinds, type Transport, transports } from '../trial.js';
import { type Figures, ratioOf, type Wanted } from './figures.js';
import { labels } from './labels.js';
import { markdownTable } from './markdown-table.js';
import { formatMicros, threeDigits } from './numbers.js';
import type { Row } from './row.js';

const suite = 'processes';
const engine = 'native';

/** The tables of groups of processes, by ranks, transport and input. */
export function processesSections(figures: Figures): string[] {
  return figures.ranksOf(suite).flatMap((ranks) =>
    transports.flatMap((transport) => {
      const tables = inputKinds.flatMap((input) => tableOf(figures, ranks, transport, input));
      return tables.length === 0 ? [] : [`### Processes over ${titles[transport]}, ${ranks} ranks`, ...tables];
    }),
  );
}

const titles: Readonly<Record<Transport, string>> = { 'shared-memory': 'shared memory', tcp: 'TCP on loopback' };
const inputTitles: Readonly<Record<InputKind, string>> = { still: 'the same inputs again', fresh: 'fresh inputs' };

function tableOf(figures: Figures, ranks: number, transport: Transport, input: InputKind): string[] {
  const peers = figures.peers(suite).filter((peer) => peersOver[transport].includes(peer));
  // And memory of their own, and threads to compare with.
  const isShared = transport === 'shared-memory';
  const lines = figures.sizesOf(suite, ranks).flatMap((bytes) => {
    const wanted: Wanted = { suite, ranks, bytes, input };
    const own: Wanted = { ...wanted, transport, memory: isShared ? 'arena' : 'ordinary' };
    const first = figures.ours(own, engine);
    const ordinary = figures.ours({ ...own, memory: 'ordinary' }, engine);
    if (!first && !ordinary) return [];
    const threads = figures.ours(wanted, engine);
    const fastest = figures.fastest(wanted, peersOver[transport]);
    return [
      [
        formatBytes(bytes),
        timeOf(first),
        ...(input === 'still' ? [timeOf(figures.ours(own, engine, 'async'))] : []),
        ...(isShared ? [timeOf(ordinary), timeOf(threads)] : []),
        ...peers.map((peer) => timeOf(figures.peer(wanted, peer))),
        bold(ratioOf(first, fastest)),
        ...(isShared ? [bold(ratioOf(ordinary, fastest)), plain(ratioOf(threads, first))] : []),
      ],
    ];
  });
  if (lines.length === 0) return [];
  const memory = isShared ? 'own memory' : 'ordinary arrays';
  const head = [
    '',
    memory,
    ...(input === 'still' ? [`${memory}, \`await\``] : []),
    ...(isShared ? ['ordinary arrays', 'threads'] : []),
    ...peers.map((peer) => labels[peer]),
    'times faster',
    ...(isShared ? ['ordinary, times faster', 'times the threads'] : []),
  ];
  return [`#### ${ranks} ranks over ${titles[transport]}, ${inputTitles[input]}, in place`, markdownTable(head, lines)];
}

function timeOf(row: Row | undefined): string {
  return row ? formatMicros(row.medianMicros) : '';
}

function plain(ratio: number | undefined): string {
  return ratio === undefined ? '' : threeDigits(ratio);
}

function bold(ratio: number | undefined): string {
  return ratio === undefined ? '' : `**${threeDigits(ratio)}**`;
}
