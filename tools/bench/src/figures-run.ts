import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type MeasureRequest, parseArguments } from './arguments.js';
import { rowsFor, warnOf } from './measure-cases.js';
import { whyMissing } from './peers/build.js';
import { type PeerName, peersOver, pythonPeers } from './peers/peers.js';
import type { FailedRow, Row } from './report/row.js';
import { sizesToCall } from './suites/ways-to-call.js';
import { UsageError } from './usage-error.js';

const MiB = 2 ** 20;
const callsCommunicators = (peer: PeerName) => !(pythonPeers as readonly PeerName[]).includes(peer);
const sharedMemoryPeers = peersOver['shared-memory'].filter(callsCommunicators);
// In shared memory, and Gloo, which has none.
const all = [...sharedMemoryPeers, 'gloo'].join();
const processPeers = [...sharedMemoryPeers, ...peersOver.tcp.filter(callsCommunicators)];
// A call of its takes tens of milliseconds where ranks share cores.
const oversubscribed = processPeers.filter((peer) => peer !== 'mpich-tcp');
const halves = [1, 4, 16, 64, 256].map((size) => size * MiB).join();

/** What the docs show, as command lines: what is compared with each other is in one of them. */
const lines: readonly (readonly string[])[] = [
  [
    ...[
      '--suite',
      'strategy',
      '--ranks',
      '2',
      '--engines',
      'native',
      '--transport',
      'shared-memory',
      '--peers',
      pythonPeers.join(),
    ],
    ...['--places', 'in,out', '--bytes', sizesToCall(false).join(), '--networks', 'resnet50,gpt2-small'],
  ],
  ['--suite', 'ops,runs', '--ranks', '2', '--engines', 'native'],
  ['--suite', 'in-process', '--ranks', '2', '--peers', all],
  [
    '--suite',
    'in-process',
    '--ranks',
    '2',
    '--peers',
    all,
    '--places',
    'out',
    '--forms',
    'sync',
    '--inputs',
    'fresh',
    '--bytes',
    halves,
  ],
  ['--suite', 'gradients', '--ranks', '2', '--peers', all, '--forms', 'sync'],
  ['--suite', 'event-loop', '--ranks', '2'],
  [
    '--suite',
    'in-process',
    '--ranks',
    '4',
    '--peers',
    all,
    '--forms',
    'sync',
    '--bytes',
    `4,64,1024,4096,16384,65536,${halves}`,
  ],
  [
    '--suite',
    'gradients',
    '--ranks',
    '4',
    '--peers',
    all,
    '--engines',
    'native',
    '--forms',
    'sync',
    '--rounds',
    '1',
    '--networks',
    'resnet50,gpt2-small',
  ],
  ['--suite', 'processes', '--ranks', '2', '--peers', processPeers.join()],
  [
    '--suite',
    'processes',
    '--ranks',
    '4',
    '--peers',
    oversubscribed.join(),
    '--forms',
    'sync',
    '--bytes',
    `4,64,1024,4096,16384,65536,${halves}`,
  ],
  [
    '--suite',
    'processes',
    '--ranks',
    '8',
    '--peers',
    'openmpi,openmpi-tuned,openmpi-tcp',
    '--forms',
    'sync',
    '--rounds',
    '1',
    '--bytes',
    `4,1024,65536,${MiB},${16 * MiB}`,
  ],
];

/** What `lines` ask for. */
export function figureRequests(): MeasureRequest[] {
  return lines.map(parseArguments).filter((request) => request?.command === 'measure');
}

// Here they are when the run is broken off.
const sofar = path.resolve(import.meta.dirname, '../build/figures.jsonl');

/** Takes the figures of the docs. @throws UsageError, WrongResultError */
export async function takeFigures(): Promise<(Row | FailedRow)[]> {
  requireAllPeers();
  mkdirSync(path.dirname(sofar), { recursive: true });
  writeFileSync(sofar, '');
  const rows: (Row | FailedRow)[] = [];
  for (const request of figureRequests()) {
    for await (const row of rowsFor(request)) {
      rows.push(row);
      appendFileSync(sofar, `${JSON.stringify(row)}\n`);
    }
  }
  warnOf(rows);
  return rows;
}

/** Because figures without them would replace those that have them. @throws UsageError */
function requireAllPeers(): void {
  for (const peer of new Set(figureRequests().flatMap(({ peers }) => peers))) {
    const reason = whyMissing(peer);
    if (reason !== undefined) throw new UsageError(`${peer}: ${reason}`);
  }
}
