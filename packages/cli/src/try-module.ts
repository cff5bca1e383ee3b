import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { CollError } from '@coll/core';
import { availableCores } from '@coll/native/machine';
import type { TryRequest } from './arguments.js';
import { Interruptions } from './interruptions.js';
import { isScript } from './program-command.js';
import { tell } from './report.js';
import { type RunResult, replicasText } from './try-outcome.js';
import { TryProcess } from './try-process.js';
import { tableOf, textOf } from './try-table.js';
import { type Judgement, judged, samplesPerStep } from './try-verdict.js';

const failed = 1;

/**
 * Runs a replica module with each number of replicas, and prints whether several pay. Returns the exit code.
 * @throws CollError for a module that does not exist
 */
export async function tryModule(request: TryRequest): Promise<number> {
  const { replicaModule, args, seconds, timeoutSeconds, isJson, showsOutput } = request;
  const file = fileOf(replicaModule);
  const module = pathToFileURL(file).href;
  const cores = availableCores();
  using interruptions = new Interruptions(undefined);
  const results: RunResult[] = [];
  for (const replicas of request.replicas ?? usualNumbers(cores)) {
    tell(`${replicasText(replicas)} for ${seconds} s`);
    const run = new TryProcess({ module, args, replicas, seconds, timeoutSeconds }, showsOutput);
    interruptions.watch(run);
    const outcome = await run.outcome;
    if (interruptions.first) return interruptions.first.exitCode;
    if ('failure' in outcome) {
      if (results.length > 0 && !isJson) print(tableOf(judged(results, cores)));
      tellFailure(replicas, outcome.failure, showsOutput ? [] : run.lastLines.read());
      return failed;
    }
    results.push(outcome.result);
  }
  const judgement = judged(results, cores);
  print(isJson ? JSON.stringify(asJson(judgement, { module: file, cores, seconds }), undefined, 2) : textOf(judgement));
  return 0;
}

/** @throws CollError for a module that does not exist, and a name that is none of a module */
function fileOf(module: string): string {
  const file = path.resolve(module);
  if (!isScript(module) || !existsSync(file)) {
    const advice = "pass the file of a replica module, the one whose URL strategy.run gets: './replica.js'";
    throw new CollError('ERR_COLL_MODULE', `there is no module ${file}: ${advice}`);
  }
  return file;
}

/** The powers of two up to the number of cores, and that number. */
function usualNumbers(cores: number): readonly number[] {
  const powers = Array.from({ length: Math.floor(Math.log2(cores)) + 1 }, (_, exponent) => 2 ** exponent);
  return [...new Set([...powers, cores])];
}

function tellFailure(replicas: number, failure: string, lastLines: readonly string[]): void {
  if (lastLines.length > 0)
    tell([`the last lines of the run with ${replicasText(replicas)}:`, ...lastLines].join('\n  | '));
  tell(`the run with ${replicasText(replicas)} failed: ${failure}`);
}

interface Circumstances {
  readonly module: string;
  readonly cores: number;
  readonly seconds: number;
}

/** What `coll try --json` prints, see docs/reference/cli.md. */
function asJson({ rows, ...judgement }: Judgement, circumstances: Circumstances): object {
  const runs = rows.map((row) => {
    const { shares, rate: _, ...figures } = row;
    return { ...figures, samplesPerStep: samplesPerStep(row), ...shares };
  });
  return { ...circumstances, ...judgement, runs };
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
