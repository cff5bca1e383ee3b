import { appendFileSync, writeFileSync } from 'node:fs';
import type { EngineName } from '@coll/core';
import type { MeasureRequest } from './arguments.js';
import { engineNames, whyNot } from './engines.js';
import { tolerableLoad } from './foreign-load.js';
import { compileBound, compilePeers, install, whyMissing } from './peers/build.js';
import type { PeerName } from './peers/peers.js';
import { thisMachine } from './report/machine.js';
import { type CaseRow, type FailedRow, isMeasured, type Row } from './report/row.js';
import { rowsTable } from './report/rows-table.js';
import { type RunSettings, runSession } from './run-session.js';
import { formatBytes } from './sizes.js';
import type { Selection } from './suites/selection.js';
import { suites } from './suites/suites.js';
import type { Session } from './trial.js';
import { UsageError } from './usage-error.js';

type Thoroughness = Pick<RunSettings, 'rounds' | 'patienceSeconds' | 'repetitions' | 'effort'>;

const quick: Thoroughness = {
  rounds: 2,
  patienceSeconds: 0,
  repetitions: 0,
  effort: { warmupMillis: 15, sampleMillis: 20, minSamples: 2, maxSamples: 100 },
};
const full: Thoroughness = {
  rounds: 2,
  patienceSeconds: 10,
  repetitions: 1,
  effort: { warmupMillis: 40, sampleMillis: 150, minSamples: 3, maxSamples: 300 },
};

// A long time, because the slowest case of a peer makes many calls of seconds before it prints a figure.
const silenceSeconds = 180;

/** Measures the requested cases, and prints the rows. @throws UsageError, WrongResultError */
export async function measureCases(request: MeasureRequest): Promise<void> {
  const { format } = request;
  const rows = await collect(rowsFor(request), request);
  if (format !== 'json') process.stdout.write(`${rowsTable(rows, format === 'table' ? 'terminal' : 'markdown')}\n`);
  warnOf(rows);
}

/** Collects rows. Each row is also printed if the format is JSON, and written to the file `out`. */
export async function collect<Some>(
  measured: AsyncIterable<Some>,
  { format, out }: Pick<MeasureRequest, 'format' | 'out'>,
): Promise<Some[]> {
  if (out !== undefined) writeFileSync(out, '');
  const rows: Some[] = [];
  for await (const row of measured) {
    rows.push(row);
    const line = `${JSON.stringify(row)}\n`;
    if (format === 'json') process.stdout.write(line);
    if (out !== undefined) appendFileSync(out, line);
  }
  return rows;
}

/** Measures the requested cases. Progress goes to stderr. @throws UsageError, WrongResultError */
export async function* rowsFor(request: MeasureRequest): AsyncGenerator<Row | FailedRow> {
  const settings = settingsOf(request);
  for (const session of sessionsFor(request)) yield* runSession(session, settings);
}

/** The sessions of all requested cases. @throws UsageError */
export function sessionsFor(request: MeasureRequest): Session[] {
  const selection = selectionOf(request);
  return request.suites.flatMap((suite) => request.ranks.flatMap((ranks) => suites[suite](selection, ranks)));
}

/** How the requested cases are measured. Afterwards, ranks use the requested number of cores. */
export function settingsOf(request: MeasureRequest): RunSettings {
  if (request.emulateCores !== undefined) process.env['COLL_CORES'] = String(request.emulateCores);
  return {
    ...(request.isQuick ? quick : full),
    ...(request.rounds === undefined ? {} : { rounds: request.rounds }),
    silenceSeconds,
    machine: thisMachine(),
    onProgress: note,
  };
}

function selectionOf(request: MeasureRequest): Selection {
  const engines = usableEngines(request.engines);
  if (request.installPeers) install(request.peers);
  const peers = usablePeers(request.peers);
  compilePeers(peers);
  const hasBound = compileBound();
  if (!hasBound) note('the memory bound is not measured: that takes a C compiler called cc');
  return { ...request, engines, peers, hasBound };
}

/**
 * The requested engines, or else all that work on this machine. @throws UsageError if a requested engine
 * does not work
 */
function usableEngines(wanted: readonly EngineName[] | undefined): readonly EngineName[] {
  return (wanted ?? engineNames).filter((name) => {
    const reason = whyNot(name);
    if (reason === undefined) return true;
    if (wanted) throw new UsageError(`the ${name} engine does not work here: ${reason}`);
    note(`the ${name} engine is not measured: ${reason}`);
    return false;
  });
}

/** The installed peers. If some are missing, the others and coll are still measured. */
function usablePeers(wanted: readonly PeerName[]): readonly PeerName[] {
  return wanted.filter((peer) => {
    const reason = whyMissing(peer);
    if (reason !== undefined) note(`${peer} is not measured: ${reason}`);
    return reason === undefined;
  });
}

/** Prints the failed cases, and how many figures other programs disturbed. */
export function warnOf(rows: readonly (Row | FailedRow)[]): void {
  for (const row of rows)
    if (!isMeasured(row))
      note(`${row.suite}, ${row.case}, ${row.ranks} ranks, ${formatBytes(row.bytes)}: ${row.failure}`);
  warnOfLoad(rows);
}

/** Prints how many figures other programs disturbed. */
export function warnOfLoad(rows: readonly Pick<CaseRow, 'foreignLoad'>[]): void {
  const disturbed = rows.filter(({ foreignLoad = 0 }) => foreignLoad > tolerableLoad).length;
  if (disturbed === 0) return;
  const words = `other programs took more than ${tolerableLoad * 100} % of the machine`;
  note(`${disturbed} of ${rows.length} figures are disturbed: ${words} while they were taken`);
}

// Prints to stderr, because stdout belongs to the figures.
export function note(message: string): void {
  process.stderr.write(`${message}\n`);
}
