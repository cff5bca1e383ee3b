import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { type MeasureRequest, parseArguments } from './arguments.js';
import { collect, rowsFor, warnOf } from './measure-cases.js';
import { whyMissing } from './peers/build.js';
import { type PeerName, peersOver, pythonPeers } from './peers/peers.js';
import type { FailedRow, Row } from './report/row.js';
import { sizesToCall } from './suites/ways-to-call.js';
import { UsageError } from './usage-error.js';

const callsCommunicators = (peer: PeerName) => !(pythonPeers as readonly PeerName[]).includes(peer);
const sharedMemoryPeers = peersOver['shared-memory'].filter(callsCommunicators);
const processPeers = [...sharedMemoryPeers, ...peersOver.tcp.filter(callsCommunicators)].join();
// A call of mpich-tcp takes tens of milliseconds if ranks share cores.
const crowdedPeers = processPeers.replace(',mpich-tcp', '');
// Gloo has no shared memory, and is measured over TCP beside the others.
const threadPeers = [...sharedMemoryPeers, 'gloo'].join();
const networks = 'resnet50,gpt2-small';
const large = '1MiB,4MiB,16MiB,64MiB,256MiB';
const fewSizes = `4,64,1KiB,4KiB,16KiB,64KiB,${large}`;

/** The figures of the docs, as command lines. Figures that are compared with each other are in the same line. */
const lines: readonly string[] = [
  `--suite strategy --ranks 2 --engines native --transport shared-memory --peers ${pythonPeers.join()} --places in,out --bytes ${sizesToCall(false).join()} --networks ${networks}`,
  '--suite ops,runs --ranks 2 --engines native',
  `--suite in-process --ranks 2 --peers ${threadPeers}`,
  `--suite in-process --ranks 2 --peers ${threadPeers} --places out --forms sync --inputs fresh --bytes ${large}`,
  `--suite gradients --ranks 2 --peers ${threadPeers} --forms sync`,
  '--suite event-loop --ranks 2',
  `--suite in-process --ranks 4 --peers ${threadPeers} --forms sync --bytes ${fewSizes}`,
  `--suite gradients --ranks 4 --peers ${threadPeers} --engines native --forms sync --rounds 1 --networks ${networks}`,
  `--suite processes --ranks 2 --transport shared-memory,tcp,encrypted-tcp --peers ${processPeers}`,
  `--suite processes --ranks 4 --peers ${crowdedPeers} --forms sync --bytes ${fewSizes}`,
  '--suite processes --ranks 8 --peers openmpi,openmpi-tuned,openmpi-tcp --forms sync --rounds 1 --bytes 4,1KiB,64KiB,1MiB,16MiB',
];

export function figureRequests(): MeasureRequest[] {
  return lines.map((line) => parseArguments(line.split(' '))).filter((request) => request?.command === 'measure');
}

/** The rows so far, in case the run is interrupted. */
const partial = path.resolve(import.meta.dirname, '../build/figures.jsonl');

/** Measures the figures of the docs. @throws UsageError, WrongResultError */
export async function takeFigures(): Promise<(Row | FailedRow)[]> {
  requireAllPeers();
  mkdirSync(path.dirname(partial), { recursive: true });
  const rows = await collect(figureRows(), { format: 'table', out: partial });
  warnOf(rows);
  return rows;
}

async function* figureRows(): AsyncGenerator<Row | FailedRow> {
  for (const request of figureRequests()) yield* rowsFor(request);
}

/** Figures without some peers would replace figures that have them. @throws UsageError */
function requireAllPeers(): void {
  for (const peer of new Set(figureRequests().flatMap(({ peers }) => peers))) {
    const reason = whyMissing(peer);
    if (reason !== undefined) throw new UsageError(`${peer}: ${reason}`);
  }
}
