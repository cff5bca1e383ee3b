import { constants } from 'node:os';
import { parseArguments, type Request } from './arguments.js';
import { tolerableLoad } from './foreign-load.js';
import { compile, install, requireInstalled } from './peers/build.js';
import { thisMachine } from './report/machine.js';
import { markdownOf } from './report/markdown.js';
import type { Row } from './report/row.js';
import { tableOf } from './report/table.js';
import { type RunSettings, runSession } from './run-session.js';
import { sessionsOf } from './suites/suites.js';
import { UsageError } from './usage-error.js';

type Thoroughness = Pick<RunSettings, 'rounds' | 'patienceSeconds' | 'effort'>;

const quick: Thoroughness = {
  rounds: 2,
  patienceSeconds: 0,
  effort: { warmupMillis: 15, sampleMillis: 20, minSamples: 2, maxSamples: 100 },
};
const full: Thoroughness = {
  rounds: 3,
  patienceSeconds: 30,
  effort: { warmupMillis: 60, sampleMillis: 250, minSamples: 5, maxSamples: 300 },
};

async function main(): Promise<void> {
  const request = parseArguments(process.argv.slice(2));
  if (!request) return;
  if (request.installPeers) install(request.peers);
  requireInstalled(request.peers);
  compile(request.peers);
  const settings: RunSettings = {
    ...(request.isQuick ? quick : full),
    machine: thisMachine(),
    onProgress: (message) => process.stderr.write(`${message}\n`),
  };
  const rows: Row[] = [];
  for await (const row of measured(request, settings)) {
    rows.push(row);
    if (request.format === 'json') process.stdout.write(`${JSON.stringify(row)}\n`);
  }
  if (request.format === 'table') process.stdout.write(`${tableOf(rows)}\n`);
  if (request.format === 'markdown') process.stdout.write(markdownOf(rows, settings.rounds));
  warnOfLoad(rows);
}

async function* measured(request: Request, settings: RunSettings): AsyncGenerator<Row> {
  for (const suite of request.suites) {
    for (const ranks of request.ranks) {
      for (const session of sessionsOf(suite, request, ranks)) yield* runSession(session, settings);
    }
  }
}

function warnOfLoad(rows: readonly Row[]): void {
  const disturbed = rows.filter(({ foreignLoad = 0 }) => foreignLoad > tolerableLoad).length;
  if (disturbed === 0) return;
  const told = `other programs took more than ${tolerableLoad * 100} % of the machine`;
  process.stderr.write(`${disturbed} of ${rows.length} figures are disturbed: ${told} while they were taken\n`);
}

// Without a listener the process would die at once, and leave a peer's processes behind.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(128 + constants.signals[signal]));
}

try {
  await main();
} catch (error) {
  const isUsage = error instanceof UsageError;
  process.stderr.write(`${isUsage ? error.message : error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = isUsage ? 2 : 1;
}
