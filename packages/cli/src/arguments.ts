import { readFileSync } from 'node:fs';
import { availableCores } from '@coll/native/machine';
import { defaultStallSeconds } from '@coll/rendezvous/internal';
import { Command, InvalidArgumentError, Option } from 'commander';
import { launcherVariables } from './rank-environment.js';

/** The parsed arguments of `coll run`. */
export interface RunRequest {
  readonly ranks: number;
  /** The path of a script, or a command. */
  readonly program: string;
  readonly args: readonly string[];
  /** Whether to run the program as a command, even if its name looks like a script. */
  readonly isCommand: boolean;
  /** Environment variables for all ranks, in addition to those that the launcher sets. */
  readonly environment: Readonly<Record<string, string>>;
  readonly hasPrefix: boolean;
  /**
   * The folder for log files, one per rank. Output is printed as well. Undefined means no log
   * files.
   */
  readonly logFolder: string | undefined;
  /** Grace period in seconds: the time between SIGTERM and SIGKILL when the launcher ends ranks. */
  readonly graceSeconds: number;
  /** The time limit of the whole run in seconds, including restarts; undefined means no limit. */
  readonly timeoutSeconds: number | undefined;
  readonly maxRestarts: number;
  /** The file with the job key; undefined means a new key. */
  readonly keyFile: string | undefined;
  /** Seconds after which a waiting rank reports which ranks it waits for; undefined means never. */
  readonly stallSeconds: number | undefined;
  /** Whether to start even if this process is already a rank of another launcher. */
  readonly isNested: boolean;
}

interface Options {
  readonly ranks?: number;
  readonly command?: true;
  readonly env?: Readonly<Record<string, string>>;
  readonly prefix: boolean;
  readonly logDir?: string;
  readonly grace: number;
  readonly timeout?: number;
  readonly maxRestarts: number;
  readonly keyFile?: string;
  readonly stallSeconds: number;
  readonly nested?: true;
}

/** The parsed arguments of `coll store`. */
export interface StoreRequest {
  /** An address, name or network interface of this host. */
  readonly storeHost: string;
  readonly port: number;
  /** Undefined means `COLL_JOB`, else a new name. */
  readonly job: string | undefined;
  /** Whether to print the variables that members of the job need, with the key. */
  readonly printsEnvironment: boolean;
}

interface StoreOptions {
  readonly host: string;
  readonly port: number;
  readonly job?: string;
  readonly printEnv?: true;
}

/** The parsed arguments of `coll key`. */
export interface KeyRequest {
  /** The new file for the key; undefined means to print the key. */
  readonly keyOut: string | undefined;
}

/** The parsed arguments of `coll doctor`. */
export interface DoctorRequest {
  readonly isJson: boolean;
  /** Whether slow lines count as failures, too. */
  readonly isStrict: boolean;
}

/** The parsed arguments of `coll try`. */
export interface TryRequest {
  /** The path of the replica module. */
  readonly replicaModule: string;
  /** The arguments of the function after its context. */
  readonly args: readonly unknown[];
  /** Undefined means the powers of two up to the number of cores, and that number. */
  readonly replicas: readonly number[] | undefined;
  readonly seconds: number;
  /** Seconds within which the first step must be made. */
  readonly timeoutSeconds: number;
  readonly isJson: boolean;
  /** Whether to print the output of the runs. */
  readonly showsOutput: boolean;
}

interface TryOptions {
  readonly replicas?: readonly number[];
  readonly seconds: number;
  readonly timeout: number;
  readonly json?: true;
  readonly output?: true;
}

/** The parsed arguments of `coll trace`. */
export interface TraceRequest {
  /** Files, folders, or the name of a job; empty means the newest job of this user. */
  readonly targets: readonly string[];
  /** The file for the timeline; undefined means none. */
  readonly out: string | undefined;
  readonly isJson: boolean;
  /** How many of the latest calls of each thread to read; undefined means all. */
  readonly lastCalls: number | undefined;
}

interface TraceOptions {
  readonly out?: string;
  readonly json?: true;
  readonly last?: number;
}

/** The parsed arguments of `coll top`. */
export interface TopRequest {
  /** A job, or a folder of records; undefined means the newest job of this user. */
  readonly job: string | undefined;
  /** Whether to print the job once instead of each second. */
  readonly isOnce: boolean;
  readonly isJson: boolean;
}

interface TopOptions {
  readonly once?: true;
  readonly json?: true;
}

/** The parsed arguments of any command. */
export type Request = RunRequest | StoreRequest | KeyRequest | DoctorRequest | TryRequest | TraceRequest | TopRequest;

const mostRanks = 1024;

/**
 * Parses the command line.
 * @throws CommanderError, whose message has been printed, for wrong arguments, and with exit code 0
 * for `--help` and `--version`
 */
export function parseArguments(args: readonly string[]): Request {
  let request: Request | undefined;
  const program = new Command('coll')
    .description('Collective communication for TypeScript.')
    .version(ownVersion(), '--version', 'print the version')
    .enablePositionalOptions()
    .exitOverride();
  const run = runCommand(program.createCommand('run').copyInheritedSettings(program));
  run.action((name: string, rest: readonly string[], options: Options) => {
    request = requestFrom(name, rest, options);
  });
  program.addCommand(run);
  const store = storeCommand(program.createCommand('store').copyInheritedSettings(program));
  store.action(({ host, port, job, printEnv }: StoreOptions) => {
    request = { storeHost: host, port, job, printsEnvironment: printEnv ?? false };
  });
  program.addCommand(store);
  const key = keyCommand(program.createCommand('key').copyInheritedSettings(program));
  key.action(({ out }: { readonly out?: string }) => {
    request = { keyOut: out };
  });
  program.addCommand(key);
  const doctor = doctorCommand(program.createCommand('doctor').copyInheritedSettings(program));
  doctor.action(({ json, strict }: { readonly json?: true; readonly strict?: true }) => {
    request = { isJson: json ?? false, isStrict: strict ?? false };
  });
  program.addCommand(doctor);
  const trying = tryCommand(program.createCommand('try').copyInheritedSettings(program));
  trying.action((replicaModule: string, rest: readonly string[], options: TryOptions) => {
    const { replicas, seconds, timeout: timeoutSeconds, json = false, output = false } = options;
    const args = rest.map(argumentOf);
    request = { replicaModule, args, replicas, seconds, timeoutSeconds, isJson: json, showsOutput: output };
  });
  program.addCommand(trying);
  const tracing = traceCommand(program.createCommand('trace').copyInheritedSettings(program));
  tracing.action((targets: readonly string[], { out, json, last }: TraceOptions) => {
    request = { targets, out, isJson: json ?? false, lastCalls: last };
  });
  program.addCommand(tracing);
  const watching = topCommand(program.createCommand('top').copyInheritedSettings(program));
  watching.action((job: string | undefined, { once, json }: TopOptions) => {
    request = { job, isOnce: once ?? false, isJson: json ?? false };
  });
  program.addCommand(watching);
  program.parse(args, { from: 'user' });
  return request as Request;
}

/** The version of this package. */
export function ownVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return version;
}

function runCommand(command: Command): Command {
  return command
    .description('Starts the ranks of a program on this machine, and ends them together.')
    .argument('<program>', 'a script (.js, .mjs, .cjs, .ts, .mts, .cts, .tsx), or a command')
    .argument('[args...]', 'the arguments of the program; a leading `--` is dropped')
    .addOption(
      new Option('-n, --ranks <n>', 'number of ranks, or auto for one rank per core (default: auto)').argParser(
        ranksFrom,
      ),
    )
    .option('--env <name=value>', 'an environment variable for all ranks; repeatable', withVariable)
    .option('--command', 'treat the program as a command, even if its name looks like a script')
    .option('--no-prefix', 'print lines without the prefix `[rank] `, or `[rank.replica] ` from threads')
    .option('--log-dir <folder>', 'also write the output of each rank to a file in this folder')
    .option('--grace <seconds>', 'time between SIGTERM and SIGKILL when a rank must end', secondsFrom(0), 5)
    .option('--timeout <seconds>', 'end the run after this time, restarts included', secondsFrom(0.001))
    .option('--max-restarts <n>', 'if a rank fails, restart all ranks, up to n times', wholeNumber, 0)
    .option('--key-file <file>', 'take the job key from this file, instead of a new key')
    .option(
      '--stall-seconds <seconds>',
      'report ranks that have waited for this time, and the ranks that have not arrived; 0 disables reports',
      secondsFrom(0),
      defaultStallSeconds,
    )
    .option('--nested', 'allow a start inside a rank of another launcher')
    .passThroughOptions()
    .addHelpText('after', otherLaunchers);
}

const otherLaunchers = `
For several hosts, start the program with the launcher of the cluster, without coll run:
  mpirun -n 4 node train.js            Open MPI, MPICH, Intel MPI
  srun --mpi=pmi2 -n 4 node train.js   Slurm; or --mpi=pmix
  a Job with a Service                 Kubernetes; set COLL_SIZE and COLL_SERVICE
Between hosts, set COLL_JOB_KEY to one secret of \`coll key\`.
Under any other launcher, run \`coll store --print-env\` on one host, and set the variables that it prints.`;

function storeCommand(command: Command): Command {
  return command
    .description(
      'Serves a store, through which the members of a job find each other, until a signal ends the process. The key of the store is COLL_JOB_KEY, or in the file COLL_JOB_KEY_FILE. With --print-env, the default is a new key.',
    )
    .option('--host <host>', 'the address, host name or network interface to listen on', '127.0.0.1')
    .option('--port <port>', 'the port to listen on; 0 selects a free port', portFrom, 0)
    .option('--job <name>', 'the name of the job (default: COLL_JOB, else a new name)')
    .option('--print-env', 'print the variables for the members, with the secret key, in the form of a shell');
}

function keyCommand(command: Command): Command {
  return command
    .description('Prints a new job key, the secret of the members of a job.')
    .option('--out <file>', 'write the key to a new file that only you can read, instead of printing it');
}

function doctorCommand(command: Command): Command {
  return command
    .description(
      'Examines this machine and the project in this folder, and prints what is slow or broken, with the cure.',
    )
    .option('--json', 'print JSON')
    .option('--strict', 'exit with code 1 if something is slow')
    .addHelpText('after', '\nThe exit code is 2 if something is broken, else 0.');
}

function tryCommand(command: Command): Command {
  return command
    .description(
      'Runs a replica module with 1, 2, ... replicas for some seconds each, and prints whether several replicas pay.',
    )
    .argument('<module>', 'the replica module, whose URL strategy.run gets')
    .argument(
      '[args...]',
      'the arguments of its function after the context, as JSON or text; a leading `--` is dropped',
    )
    .option(
      '--replicas <list>',
      'numbers of replicas, such as 1,2,4 (default: powers of two and the cores)',
      numbersFrom,
    )
    .option(
      '--seconds <seconds>',
      'how long each run makes steps; the first fifth is not measured',
      secondsFrom(0.1),
      5,
    )
    .option('--timeout <seconds>', 'how long a run may take until its first step', secondsFrom(1), 60)
    .option('--json', 'print JSON')
    .option('-v, --output', 'print the output of the runs, on stderr');
}

function traceCommand(command: Command): Command {
  return command
    .description(
      'Prints which rank a job waits for, or why it has failed, from the records that its threads keep of their latest calls.',
    )
    .argument(
      '[records...]',
      'files or folders of records, or a job: its pid, COLL_JOB, or the id of a group (default: the newest job)',
    )
    .option('--out <file>', 'write a timeline of the calls, for Perfetto or chrome://tracing')
    .option('--json', 'print JSON')
    .option('--last <calls>', 'read only the latest calls of each thread', positiveNumber);
}

function topCommand(command: Command): Command {
  return command
    .description('Shows a running job each second: what its ranks do, how fast they are, and who waits for whom.')
    .argument('[job]', 'a pid, COLL_JOB, the id of a group, or a folder of records (default: the newest job)')
    .option('--once', 'print one second of the job, and exit')
    .option('--json', 'print a line of JSON each second');
}

/** An argument of a replica: JSON becomes its value, and anything else is text. */
function argumentOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function portFrom(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) < 2 ** 16) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 0 to 65535.');
}

function requestFrom(program: string, rest: readonly string[], options: Options): RunRequest {
  return {
    ranks: options.ranks ?? availableCores(),
    program,
    args: rest[0] === '--' ? rest.slice(1) : rest,
    isCommand: options.command ?? false,
    environment: options.env ?? {},
    hasPrefix: options.prefix,
    logFolder: options.logDir,
    graceSeconds: options.grace,
    timeoutSeconds: options.timeout,
    maxRestarts: options.maxRestarts,
    keyFile: options.keyFile,
    stallSeconds: options.stallSeconds === 0 ? undefined : options.stallSeconds,
    isNested: options.nested ?? false,
  };
}

function numbersFrom(text: string): readonly number[] {
  const numbers = text.split(',').map((number) => (/^\d{1,9}$/.test(number.trim()) ? Number(number) : Number.NaN));
  if (numbers.every((number) => number >= 1 && number <= mostRanks)) return [...new Set(numbers)].sort((a, b) => a - b);
  throw new InvalidArgumentError(`It must be a list of whole numbers from 1 to ${mostRanks}, such as 1,2,4.`);
}

function ranksFrom(text: string): number {
  if (text === 'auto') return availableCores();
  const ranks = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (ranks >= 1 && ranks <= mostRanks) return ranks;
  throw new InvalidArgumentError(`It must be auto, or a whole number from 1 to ${mostRanks}.`);
}

function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number, 0 or more.');
}

function positiveNumber(text: string): number {
  const number = wholeNumber(text);
  if (number > 0) return number;
  throw new InvalidArgumentError('It must be a whole number, 1 or more.');
}

// The longest time of a Node.js timer.
const mostSeconds = 2 ** 31 / 1000 - 1;

function secondsFrom(least: number): (text: string) => number {
  return (text) => {
    const seconds = text.trim() === '' ? Number.NaN : Number(text);
    if (seconds >= least && seconds <= mostSeconds) return seconds;
    throw new InvalidArgumentError(`It must be a number of seconds from ${least} to ${Math.floor(mostSeconds)}.`);
  };
}

function withVariable(text: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError('It must be NAME=VALUE.');
  if (launcherVariables.includes(name))
    throw new InvalidArgumentError(`The launcher sets ${name} itself, so --env cannot change it.`);
  return { ...before, [name]: value };
}
