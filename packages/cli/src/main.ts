import { CollError } from '@coll/core';
import { CommanderError } from 'commander';
import { parseArguments } from './arguments.js';
import { examine } from './doctor/examine.js';
import { makeKey } from './make-key.js';
import { tell } from './report.js';
import { run } from './run.js';
import { serveStore } from './serve-store.js';
import { top } from './top/top.js';
import { trace } from './trace/trace.js';
import { tryModule } from './try-module.js';

const exitCodes = { internal: 1, badUsage: 2 };

try {
  const request = parseArguments(process.argv.slice(2));
  if ('storeHost' in request) await serveStore(request);
  else if ('replicaModule' in request) process.exitCode = await tryModule(request);
  else if ('isStrict' in request) process.exitCode = await examine(request);
  else if ('keyOut' in request) makeKey(request);
  else if ('targets' in request) process.exitCode = trace(request);
  else if ('isOnce' in request) process.exitCode = await top(request);
  else {
    const { exitCode, isUnread } = await run(request);
    process.exitCode = exitCode;
    // Pending writes would keep the process alive.
    if (isUnread) process.exit();
  }
} catch (error) {
  process.exitCode = exitCodeOf(error);
}

/**
 * Returns the exit code for an error and prints the error, unless Commander has printed it already.
 */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.badUsage;
  tell(textOf(error));
  return error instanceof CollError ? exitCodes.badUsage : exitCodes.internal;
}

function textOf(error: unknown): string {
  if (error instanceof CollError) return `${error.code}: ${error.message}`;
  return (error instanceof Error ? error.stack : undefined) ?? String(error);
}
