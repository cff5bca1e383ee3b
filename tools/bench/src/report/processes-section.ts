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
  const hasThreads = transport === 'shared-memory';
  const lines = figures.sizesOf(suite, ranks).flatMap((bytes) => {
    const wanted: Wanted = { suite, ranks, bytes, input };
    const own = { ...wanted, transport, memory: 'arena' } as const;
    const arena = figures.ours(own, engine);
    const ordinary = figures.ours({ ...own, memory: 'ordinary' }, engine);
    if (!arena && !ordinary) return [];
    const threads = figures.ours(wanted, engine);
    const fastest = figures.fastest(wanted, peersOver[transport]);
    return [
      [
        formatBytes(bytes),
        timeOf(arena),
        ...(input === 'still' ? [timeOf(figures.ours(own, engine, 'async'))] : []),
        timeOf(ordinary),
        ...(hasThreads ? [timeOf(threads)] : []),
        ...peers.map((peer) => timeOf(figures.peer(wanted, peer))),
        bold(ratioOf(arena, fastest)),
        bold(ratioOf(ordinary, fastest)),
        ...(hasThreads ? [plain(ratioOf(threads, arena))] : []),
      ],
    ];
  });
  if (lines.length === 0) return [];
  const head = [
    '',
    'own memory',
    ...(input === 'still' ? ['own memory, `await`'] : []),
    'ordinary arrays',
    ...(hasThreads ? ['threads'] : []),
    ...peers.map((peer) => labels[peer]),
    'times faster',
    'ordinary, times faster',
    ...(hasThreads ? ['times the threads'] : []),
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
