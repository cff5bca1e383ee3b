import { constants } from 'node:os';
import { measureAgainst } from './against/measure-against.js';
import { parseArguments } from './arguments.js';
import { takeFigures } from './figures-run.js';
import { measureCases } from './measure-cases.js';
import { takeCounts } from './scale/count.js';
import { UsageError } from './usage-error.js';

async function main(): Promise<void> {
  const request = parseArguments(process.argv.slice(2));
  if (!request) return;
  if (request.command === 'measure') {
    if (request.against === undefined) await measureCases(request);
    else await measureAgainst(request, request.against);
    return;
  }
  // Drawing needs a library that measuring does not need.
  const { readLines, writeCounts, writeReport } = await import('./report/write-report.js');
  if (request.command === 'scale') writeCounts(await takeCounts(request.ranks));
  else if (request.command === 'figures') writeReport(await takeFigures());
  else writeReport(request.from === undefined ? [] : readLines(request.from));
}

// Without a listener, a signal would end this process at once, and leave the processes of a peer running.
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
