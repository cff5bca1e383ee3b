import { Command, CommanderError } from 'commander';
import { type AlgorithmName, algorithmNames } from './algorithms.js';
import { type PeerName, peerNames } from './peers/peers.js';
import { parseBytes } from './sizes.js';
import { type Engine, engines, type SuiteName, suiteNames } from './trial.js';
import { UsageError } from './usage-error.js';

export type Format = 'table' | 'json' | 'markdown';

/** What the command line asks for. */
export interface Request {
  readonly suites: readonly SuiteName[];
  readonly ranks: readonly number[];
  readonly engines: readonly Engine[];
  readonly algorithms: readonly AlgorithmName[] | undefined;
  readonly bytes: readonly number[] | undefined;
  readonly peers: readonly PeerName[];
  readonly installPeers: boolean;
  readonly isQuick: boolean;
  readonly format: Format;
}

interface Options {
  readonly suite: readonly SuiteName[];
  readonly ranks: readonly number[];
  readonly engines: readonly Engine[];
  readonly algorithms?: readonly AlgorithmName[];
  readonly bytes?: readonly number[];
  readonly peers?: readonly PeerName[];
  readonly installPeers?: true;
  readonly quick?: true;
  readonly json?: true;
  readonly markdown?: true;
}

/** Undefined where help was asked for, and printed. @throws UsageError */
export function parseArguments(args: readonly string[]): Request | undefined {
  const program = command();
  try {
    program.parse(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return undefined;
    throw new UsageError(error.message.replace(/^error: /, ''));
  }
  const options: Options = program.opts();
  if (options.json && options.markdown) throw new UsageError('--json and --markdown exclude each other');
  // Whoever installs without naming peers wants them all.
  const peers = options.peers ?? (options.installPeers ? peerNames : []);
  return {
    suites: options.suite,
    ranks: options.ranks,
    engines: options.engines,
    algorithms: options.algorithms,
    bytes: options.bytes,
    peers,
    installPeers: options.installPeers ?? false,
    isQuick: options.quick ?? false,
    format: options.json ? 'json' : options.markdown ? 'markdown' : 'table',
  };
}

function command(): Command {
  return new Command('npm run bench --')
    .description('Measures collectives of this repository, and of other libraries beside them. Lists take commas.')
    .option('--quick', 'fewer sizes, rounds and samples: about a minute')
    .option('--suite <list>', suiteNames.join(', '), listOf('suite', suiteNames), [...suiteNames])
    .option('--ranks <list>', 'ranks in a group', ranksOf, [2])
    .option('--bytes <list>', 'sizes such as 4, 64KiB, 1MiB', (text) => items(text).map(parseBytes))
    .option('--engines <list>', engines.join(', '), enginesOf, [...engines])
    .option('--algorithms <list>', algorithmNames.join(', '), listOf('algorithm', algorithmNames))
    .option('--peers <list>', `measured beside ours: ${peerNames.join(', ')}`, listOf('peer', peerNames))
    .option('--install-peers', 'installs the peers with apt-get first')
    .option('--json', 'one line of JSON a case, and nothing else on stdout')
    .option('--markdown', 'tables for the docs')
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
}

function listOf<Name extends string>(what: string, known: readonly Name[]): (text: string) => Name[] {
  return (text) =>
    items(text).map((item) => {
      const found = known.find((name) => name === item);
      if (found !== undefined) return found;
      throw new UsageError(`no ${what} is called "${item}"; there are ${known.join(', ')}`);
    });
}

/** `threads` stands for both of its engines. */
function enginesOf(text: string): Engine[] {
  const spelt = items(text).flatMap((item) => (item === 'threads' ? ['threads-sync', 'threads-async'] : [item]));
  return listOf('engine', engines)(spelt.join());
}

function ranksOf(text: string): number[] {
  return items(text).map((item) => {
    const ranks = Number(item);
    if (/^\d+$/.test(item) && ranks >= 1 && ranks <= 64) return ranks;
    throw new UsageError(`--ranks takes whole numbers from 1 to 64, not "${item}"`);
  });
}

function items(text: string): string[] {
  return [...new Set(text.split(',').map((item) => item.trim()))];
}
