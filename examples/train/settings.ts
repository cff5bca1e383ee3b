import { type EngineRequest, registry } from '@coll/core';
import { Command, InvalidArgumentError, Option } from 'commander';

export interface Settings {
  readonly replicas: number;
  readonly ops: string;
  readonly engine: EngineRequest;
  readonly epochs: number;
  readonly batchSize: number;
  readonly samples: number;
  readonly seed: number;
  /** Of several workers: whether they may be on different hosts, although nothing is encrypted. */
  readonly insecure: boolean;
}

const engines: readonly EngineRequest[] = ['auto', 'native', 'wasm', 'js'];

/** @throws CommanderError, after it has been printed, for `--help` (its exit code is 0) and for a wrong value */
export function settingsFrom(args: readonly string[]): Settings {
  const command = commandLine();
  const settings = command.parse(args, { from: 'user' }).opts<Settings>();
  const { replicas, batchSize, samples } = settings;
  if (batchSize % replicas !== 0) {
    command.error(`error: --batch-size ${batchSize} cannot be split evenly among ${replicas} replicas`);
  }
  if (samples < batchSize) command.error(`error: --samples ${samples} is less than one batch of ${batchSize}`);
  return settings;
}

function commandLine(): Command {
  const names = [...registry.list().map(({ name }) => name), 'auto'];
  return new Command('npm start --')
    .description('Trains a model that reads digits on several threads of this machine.')
    .option('--replicas <n>', 'replicas of the model, each in a thread', wholeNumberFrom(1), 2)
    .addOption(new Option('--ops <name>', 'how gradients are combined').choices(names).default('direct'))
    .addOption(new Option('--engine <name>', 'what adds them up').choices(engines).default('auto'))
    .option('--epochs <n>', 'passes over the training digits', wholeNumberFrom(1), 6)
    .option('--batch-size <n>', 'digits in one step, over all replicas', wholeNumberFrom(1), 256)
    .option('--samples <n>', 'training digits', wholeNumberFrom(1), 6000)
    .option('--seed <n>', 'decides digits and initial weights', wholeNumberFrom(0), 1)
    .option('--insecure', 'workers may be on different hosts, although what they send is not encrypted', false)
    .showSuggestionAfterError(false)
    .exitOverride();
}

function wholeNumberFrom(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least}.`);
  };
}
