import { peersOver, type Transport, transports } from '../peers/peers.js';
import { formatBytes } from '../sizes.js';
import { type Form, type InputKind, inputKinds, type Memory, memoriesOver } from '../trial.js';
import { bold, percent, plain, timeOf } from './cells.js';
import { type Figures, ratioOf, type Wanted } from './figures.js';
import { labels } from './labels.js';
import { markdownTable } from './markdown-table.js';
import type { Row } from './row.js';

const suite = 'processes';
const engine = 'native';

/** The tables of groups of processes, by ranks, transport and input. */
export function processesSections(figures: Figures): string[] {
  return figures.ranksOf(suite).flatMap((ranks) =>
    transports.flatMap((transport) => {
      const tables = inputKinds.flatMap((input) => tableOf(figures, ranks, transport, input));
      return tables.length === 0
        ? []
        : [`### Communicators of processes over ${titles[transport]}, ${ranks} ranks`, ...tables];
    }),
  );
}

const titles: Readonly<Record<Transport, string>> = { 'shared-memory': 'shared memory', tcp: 'TCP on loopback' };
const inputTitles: Readonly<Record<InputKind, string>> = { still: 'the same inputs again', fresh: 'fresh inputs' };
const memoryTitles: Readonly<Record<Memory, string>> = { arena: 'own memory', ordinary: 'ordinary arrays' };

interface Column {
  readonly title: string;
  readonly cellOf: (bytes: number) => string;
}

function tableOf(figures: Figures, ranks: number, transport: Transport, input: InputKind): string[] {
  const wanted = (bytes: number): Wanted => ({ suite, ranks, bytes, input });
  const ours = (bytes: number, memory: Memory, form?: Form) =>
    figures.ours({ ...wanted(bytes), transport, memory }, engine, form);
  const columns = columnsOf(figures, transport, wanted, ours);
  const sizes = figures
    .sizesOf(suite, ranks)
    .filter((bytes) => memoriesOver[transport].some((memory) => ours(bytes, memory)));
  const shown = columns.filter(({ cellOf }) => sizes.some((bytes) => cellOf(bytes) !== ''));
  if (sizes.length === 0) return [];
  return [
    `#### ${ranks} ranks over ${titles[transport]}, ${inputTitles[input]}, in place`,
    markdownTable(
      ['', ...shown.map(({ title }) => title)],
      sizes.map((bytes) => [formatBytes(bytes), ...shown.map(({ cellOf }) => cellOf(bytes))]),
    ),
  ];
}

/** Times of ours by memory and form, where they share memory also those of threads; of peers; and how they compare. */
function columnsOf(
  figures: Figures,
  transport: Transport,
  wanted: (bytes: number) => Wanted,
  ours: (bytes: number, memory: Memory, form?: Form) => Row | undefined,
): Column[] {
  const memories = memoriesOver[transport];
  const [first] = memories as readonly [Memory, ...Memory[]];
  const threads = (bytes: number) => figures.ours(wanted(bytes), engine);
  const fastest = (bytes: number) => figures.fastest(wanted(bytes), peersOver[transport]);
  const isShared = transport === 'shared-memory';
  return [
    ...memories.flatMap((memory): Column[] => [
      { title: memoryTitles[memory], cellOf: (bytes) => timeOf(ours(bytes, memory)) },
      { title: `${memoryTitles[memory]}, \`await\``, cellOf: (bytes) => timeOf(ours(bytes, memory, 'async')) },
    ]),
    ...(isShared ? [{ title: 'threads', cellOf: (bytes: number) => timeOf(threads(bytes)) }] : []),
    ...figures
      .peers(suite)
      .filter((peer) => peersOver[transport].includes(peer))
      .map((peer) => ({ title: labels[peer], cellOf: (bytes: number) => timeOf(figures.peer(wanted(bytes), peer)) })),
    ...memories.map((memory) => ({
      title: memory === first ? 'times faster' : `${memory}, times faster`,
      cellOf: (bytes: number) => bold(ratioOf(ours(bytes, memory), fastest(bytes))),
    })),
    ...(isShared
      ? [
          { title: 'times the threads', cellOf: (bytes: number) => plain(ratioOf(threads(bytes), ours(bytes, first))) },
          { title: 'of the bound', cellOf: (bytes: number) => percent(ours(bytes, first)?.boundShare) },
        ]
      : []),
  ];
}
