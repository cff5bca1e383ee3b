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
  /** Undefined: all engines that this machine supports. */
  readonly engines?: readonly EngineName[] | undefined;
  /** Undefined: the forms of each suite. */
  readonly forms?: readonly Form[] | undefined;
  readonly algorithms: readonly AlgorithmName[];
  /** Undefined: the inputs of each suite. */
  readonly inputs?: readonly InputKind[] | undefined;
  readonly places: readonly Place[];
  /** Undefined: the sizes of each suite. */
  readonly bytes?: readonly number[] | undefined;
  /** Undefined: the networks of each suite. */
  readonly networks?: readonly GradientSet[] | undefined;
  readonly transports: readonly Transport[];
  /** Undefined: the usual number of rounds. */
  readonly rounds?: number | undefined;
  /** The number of cores that coll assumes. Undefined: as many as it finds. */
  readonly emulateCores?: number | undefined;
  readonly peers: readonly PeerName[];
  readonly installPeers: boolean;
  readonly isQuick: boolean;
  /** The commit to compare this checkout with. Undefined: only this checkout is measured. */
  readonly against?: string | undefined;
  readonly format: Format;
  /** A file to which the lines of JSON are also written. */
  readonly out?: string | undefined;
}

/** Makes the pages and pictures of the docs from figures. */
export interface ReportRequest {
  readonly command: 'report';
  /** A file of new figures. Undefined: only the checked-in figures. */
  readonly from: string | undefined;
}

/** Measures the figures of the docs, and makes the pages and pictures from them. */
export interface FiguresRequest {
  readonly command: 'figures';
}

/** Counts memory, connections and messages, and makes the page and pictures from the counts. */
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

/** Returns undefined after `--help`, which has been printed. @throws UsageError */
export function parseArguments(args: readonly string[]): Request | undefined {
  let request: Request | undefined;
  const program = measureCommand().action((options: Options) => {
    request = measureRequest(options);
  });
  program
    .command('report')
    .description('writes the figures of docs/internals/benchmarks.md, its pictures, and the table of README.md')
    .option('--in <file>', 'lines of JSON that replace those of the same suites and CPU in docs/figures/results.jsonl')
    .action(({ in: from }: { in?: string }) => {
      request = { command: 'report', from };
    });
  program
    .command('figures')
    .description('measures the figures of the docs again, with all peers, in more than half an hour, and reports them')
    .action(() => {
      request = { command: 'figures' };
    });
  program
    .command('scale')
    .description(
      'counts memory, connections and messages per rank of groups of processes, in minutes, and reports them',
    )
    .option('--groups <list>', 'sizes of groups', (text) => wholeNumbers('--groups', text, 1024), [8, 16, 32, 64, 128])
    .action(({ groups }: { groups: readonly number[] }) => {
      request = { command: 'scale', ranks: groups };
    });
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
  const { suite, transport, peers, installPeers = false, quick = false, json, markdown, ...others } = options;
  if (json && markdown) throw new UsageError('--json and --markdown exclude each other');
  if (others.against !== undefined && (markdown || peers || installPeers))
    throw new UsageError('--against compares two builds of coll: omit --markdown, --peers and --install-peers');
  return {
    ...others,
    command: 'measure',
    suites: suite,
    transports: transport,
    // --install-peers without --peers asks for all of them.
    peers: peers ?? (installPeers ? peerNames : []),
    installPeers,
    isQuick: quick,
    format: json ? 'json' : markdown ? 'markdown' : 'table',
  };
}

function measureCommand(): Command {
  return new Command('npm run bench --')
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
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
      'shared-memory',
      'tcp',
    ])
    .option('--rounds <number>', 'how often all cases are measured', (text) => wholeNumbers('--rounds', text, 99)[0])
    .option(
      '--emulate-cores <number>',
      'the number of cores that coll assumes, whatever this machine has',
      (text) => wholeNumbers('--emulate-cores', text, mostCores)[0],
    )
    .option('--against <commit>', 'builds this commit as well, alternates both builds, and prints what differs')
    .option('--peers <list>', `measured beside coll: ${peerNames.join(', ')}`, listOf('peer', peerNames))
    .option('--install-peers', 'installs the peers with apt-get first')
    .option('--json', 'one line of JSON per case, and nothing else on stdout')
    .option('--markdown', 'prints the table in Markdown')
    .option('--out <file>', 'also writes the lines of JSON to this file');
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
