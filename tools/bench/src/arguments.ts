import type { EngineName } from '@coll/core';
import { mostCores } from '@coll/native/machine';
import { Command, CommanderError } from 'commander';
import { type AlgorithmName, algorithmNames } from './algorithms.js';
import { engineNames } from './engines.js';
import { type GradientSet, gradientSets } from './gradients.js';
import { type PeerName, peerNames, type Transport, transports } from './peers/peers.js';
import { parseBytes } from './sizes.js';
import {
  type Form,
  forms,
  type InputKind,
  inputKinds,
  type Place,
  places,
  type SuiteName,
  suiteNames,
} from './trial.js';
import { UsageError } from './usage-error.js';

export type Format = 'table' | 'json' | 'markdown';

/** What the command line asks for. */
export type Request = MeasureRequest | ReportRequest | FiguresRequest | ScaleRequest;

export interface MeasureRequest {
  readonly command: 'measure';
  readonly suites: readonly SuiteName[];
  readonly ranks: readonly number[];
  /** Absent: those that work here. */
  readonly engines: readonly EngineName[] | undefined;
  readonly forms: readonly Form[] | undefined;
  readonly algorithms: readonly AlgorithmName[];
  readonly inputs: readonly InputKind[] | undefined;
  readonly places: readonly Place[];
  readonly bytes: readonly number[] | undefined;
  readonly networks: readonly GradientSet[] | undefined;
  readonly transports: readonly Transport[];
  readonly rounds: number | undefined;
  /** How many cores coll takes the machine to have; absent: as many as it finds. */
  readonly emulateCores: number | undefined;
  readonly peers: readonly PeerName[];
  readonly installPeers: boolean;
  readonly isQuick: boolean;
  /** The commit whose build this checkout is compared with; undefined: the figures of this checkout alone. */
  readonly against: string | undefined;
  readonly format: Format;
  /** Where lines of JSON go besides. */
  readonly out: string | undefined;
}

/** The pages and pictures of the docs, from the figures of a file. */
export interface ReportRequest {
  readonly command: 'report';
  /** Absent: the figures of the docs. */
  readonly from: string | undefined;
}

/** The run that the docs show, and what is made from it. */
export interface FiguresRequest {
  readonly command: 'figures';
}

/** Counts of memory, connections and messages, and what is made from them. */
export interface ScaleRequest {
  readonly command: 'scale';
  /** The sizes of groups to count. */
  readonly ranks: readonly number[];
}

interface Options
  extends Omit<MeasureRequest, 'command' | 'suites' | 'transports' | 'peers' | 'installPeers' | 'isQuick' | 'format'> {
  readonly suite: readonly SuiteName[];
  readonly transport: readonly Transport[];
  readonly peers?: readonly PeerName[];
  readonly installPeers?: true;
  readonly quick?: true;
  readonly json?: true;
  readonly markdown?: true;
}

/** Undefined where help was asked for, and printed. @throws UsageError */
export function parseArguments(args: readonly string[]): Request | undefined {
  let request: Request | undefined;
  const program = measureCommand((options) => {
    request = measureRequest(options);
  });
  program.addCommand(
    reportCommand((from) => {
      request = { command: 'report', from };
    }),
  );
  program.addCommand(
    figuresCommand(() => {
      request = { command: 'figures' };
    }),
  );
  program.addCommand(
    scaleCommand((ranks) => {
      request = { command: 'scale', ranks };
    }),
  );
  try {
    program.parse(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return undefined;
    throw new UsageError(error.message.replace(/^error: /, ''));
  }
  return request;
}

function measureRequest(options: Options): MeasureRequest {
  if (options.json && options.markdown) throw new UsageError('--json and --markdown exclude each other');
  if (options.against !== undefined && (options.markdown || options.peers || options.installPeers))
    throw new UsageError('--against compares two builds of coll: omit --markdown, --peers and --install-peers');
  return {
    command: 'measure',
    suites: options.suite,
    ranks: options.ranks,
    engines: options.engines,
    forms: options.forms,
    algorithms: options.algorithms,
    inputs: options.inputs,
    places: options.places,
    bytes: options.bytes,
    networks: options.networks,
    transports: options.transport,
    rounds: options.rounds,
    emulateCores: options.emulateCores,
    // Whoever installs without naming peers wants them all.
    peers: options.peers ?? (options.installPeers ? peerNames : []),
    installPeers: options.installPeers ?? false,
    isQuick: options.quick ?? false,
    against: options.against,
    format: options.json ? 'json' : options.markdown ? 'markdown' : 'table',
    out: options.out,
  };
}

function measureCommand(action: (options: Options) => void): Command {
  return throwing(new Command('npm run bench --'))
    .description('Measures collectives of this repository, and of other libraries beside them. Lists take commas.')
    .option('--quick', 'fewer sizes, rounds and samples: about a minute')
    .option('--suite <list>', suiteNames.join(', '), listOf('suite', suiteNames), [...suiteNames])
    .option('--ranks <list>', 'ranks in a group', (text) => wholeNumbers('--ranks', text, 64), [2])
    .option('--bytes <list>', 'sizes such as 4, 64KiB, 1MiB', (text) => items(text).map(parseBytes))
    .option(
      '--engines <list>',
      `${engineNames.join(', ')} (default: those that work here)`,
      listOf('engine', engineNames),
    )
    .option('--forms <list>', `${forms.join(', ')} (default: all of the first engine's)`, listOf('form', forms))
    .option('--algorithms <list>', algorithmNames.join(', '), listOf('algorithm', algorithmNames), ['direct'])
    .option('--inputs <list>', inputKinds.join(', '), listOf('input', inputKinds))
    .option('--places <list>', `output: ${places.join(', ')} of the input's place`, listOf('place', places), ['in'])
    .option('--networks <list>', `gradients of ${gradientSets.join(', ')}`, listOf('network', gradientSets))
    .option('--transport <list>', `of processes: ${transports.join(', ')}`, listOf('transport', transports), [
      ...transports,
    ])
    .option('--rounds <number>', 'how often all cases are taken', (text) => wholeNumbers('--rounds', text, 99)[0])
    .option(
      '--emulate-cores <number>',
      'how many cores coll takes this machine to have, whatever it finds',
      (text) => wholeNumbers('--emulate-cores', text, mostCores)[0],
    )
    .option('--against <commit>', 'builds this commit as well, alternates both builds, and prints what differs')
    .option('--peers <list>', `measured beside ours: ${peerNames.join(', ')}`, listOf('peer', peerNames))
    .option('--install-peers', 'installs the peers with apt-get first')
    .option('--json', 'one line of JSON a case, and nothing else on stdout')
    .option('--markdown', 'prints the table in Markdown')
    .option('--out <file>', 'writes the lines of JSON there, too')
    .action((options: Options) => action(options));
}

function reportCommand(action: (from: string | undefined) => void): Command {
  return throwing(new Command('report'))
    .description('writes the figures of docs/internals/benchmarks.md, its pictures, and the table of README.md')
    .option('--in <file>', 'lines of JSON that replace those of the same suites and CPU in docs/figures/results.jsonl')
    .action(({ in: from }: { in?: string }) => action(from));
}

function figuresCommand(action: () => void): Command {
  return throwing(new Command('figures'))
    .description('takes the figures of the docs anew, with all peers, in more than half an hour, and reports them')
    .action(() => action());
}

function scaleCommand(action: (ranks: readonly number[]) => void): Command {
  return throwing(new Command('scale'))
    .description(
      'counts memory, connections and messages per rank of groups of processes, in minutes, and reports them',
    )
    .option('--groups <list>', 'sizes of groups', (text) => wholeNumbers('--groups', text, 1024), [8, 16, 32, 64, 128])
    .action(({ groups }: { groups: readonly number[] }) => action(groups));
}

function throwing(command: Command): Command {
  return command.exitOverride().configureOutput({ writeErr: () => {} });
}

function listOf<Name extends string>(what: string, known: readonly Name[]): (text: string) => Name[] {
  return (text) =>
    items(text).map((item) => {
      const found = known.find((name) => name === item);
      if (found !== undefined) return found;
      throw new UsageError(`no ${what} is called "${item}"; there are ${known.join(', ')}`);
    });
}

function wholeNumbers(option: string, text: string, most: number): number[] {
  return items(text).map((item) => {
    const number = Number(item);
    if (/^\d+$/.test(item) && number >= 1 && number <= most) return number;
    throw new UsageError(`${option} takes whole numbers from 1 to ${most}, not "${item}"`);
  });
}

function items(text: string): string[] {
  return [...new Set(text.split(',').map((item) => item.trim()))];
}
