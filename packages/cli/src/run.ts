import { randomUUID } from 'node:crypto';
import { constants } from 'node:os';
import { RuntimeError } from '@coll/core';
import { TcpStoreServer } from '@coll/rendezvous';
import { membershipFrom } from '@coll/strategy';
import type { RunRequest } from './arguments.js';
import { Guard } from './guard.js';
import { commandFor } from './program-command.js';
import { type Failure, RankGroup } from './rank-group.js';

/** Why a run ends before its ranks have. */
interface Interruption {
  readonly exitCode: number;
  readonly told: string;
}

const timedOut = 124;
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** One Ctrl-C arrives twice where npm or npx started us: from the terminal, and from them. */
const echoMillis = 250;

/**
 * Runs the ranks of a program, again as a whole where one fails and restarts are left: the exit code of the launcher.
 * @throws RuntimeError inside of a rank; CollError for a program or a log folder that cannot be used
 */
export async function run(request: RunRequest): Promise<number> {
  if (!request.isNested) requireNoLauncher(process.env);
  const command = commandFor(request.program, request.args, request.isCommand);
  const name = `run-${randomUUID()}`;
  const key = TcpStoreServer.newKey();
  await using store = await TcpStoreServer.listen({ job: name, jobKey: key });
  const job = { name, key, store: store.address, size: request.ranks };
  using guard = new Guard(request.graceSeconds, () => tell('nobody ends the ranks if this launcher is killed'));
  using interruptions = new Interruptions(request.timeoutSeconds);
  for (let restart = 0; ; restart++) {
    const group = new RankGroup({ request, command, job, restart, guard, tell });
    interruptions.watch(group);
    const failure = await group.ended;
    const isLast = restart === request.maxRestarts || interruptions.first !== undefined;
    if (failure) tellFailure(failure, request, isLast ? undefined : restart + 1);
    if (failure && isLast) return failure.exitCode;
    if (!failure) return interruptions.first?.exitCode ?? 0;
  }
}

/** What ends a run from outside: signals, its time, and nobody who reads what it prints. */
class Interruptions implements Disposable {
  first: Interruption | undefined;
  #group: RankGroup | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  #interruptedAt = Number.NEGATIVE_INFINITY;

  constructor(timeoutSeconds: number | undefined) {
    for (const signal of stopSignals) process.on(signal, this.#onSignal);
    for (const stream of [process.stdout, process.stderr]) stream.setMaxListeners(0).on('error', this.#onBrokenOutput);
    if (timeoutSeconds === undefined) return;
    this.#timer = setTimeout(() => {
      const told = `timed out after ${timeoutSeconds} seconds; still running: ${listOf(this.#group?.running ?? [])}`;
      this.#end({ exitCode: timedOut, told });
    }, timeoutSeconds * 1000);
  }

  watch(group: RankGroup): void {
    this.#group = group;
    if (this.first) group.end();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (const signal of stopSignals) process.off(signal, this.#onSignal);
  }

  readonly #onSignal = (signal: (typeof stopSignals)[number]) => {
    if (signal === 'SIGINT') {
      const now = performance.now();
      if (process.stdin.isTTY && now - this.#interruptedAt < echoMillis) return;
      this.#interruptedAt = now;
      if (this.#group?.isEnding) this.#group.kill();
    }
    this.#end({
      exitCode: 128 + constants.signals[signal],
      told: `${signal}: ending ${listOf(this.#group?.running ?? [])}`,
    });
  };

  readonly #onBrokenOutput = ({ message }: Error) => {
    this.#end({ exitCode: 128 + constants.signals.SIGPIPE, told: `nobody reads what is printed: ${message}` });
  };

  #end(interruption: Interruption): void {
    if (this.first) return;
    this.first = interruption;
    tell(interruption.told);
    this.#group?.end();
  }
}

function requireNoLauncher(environment: NodeJS.ProcessEnv): void {
  const found = membershipFrom(environment);
  if (!found) return;
  const told = `this is rank ${found.rank} of a group that ${found.launcher} started, and each of its ranks would start ranks`;
  const cure = 'let it start the program itself, or pass --nested';
  throw new RuntimeError('ERR_COLL_CLUSTER', `${told}: ${cure}`, { rank: found.rank, operation: 'run' });
}

function tellFailure(
  { rank, told, lastLines, others }: Failure,
  request: RunRequest,
  restart: number | undefined,
): void {
  // A single rank has just said it.
  if (request.ranks > 1 && lastLines.length > 0)
    tell([`the last lines of rank ${rank} on stderr:`, ...lastLines].join('\n  | '));
  const ended = others.length > 0 ? `; ended ${listOf(others)}` : '';
  const again = restart === undefined ? '' : `; restart ${restart} of ${request.maxRestarts}`;
  tell(`rank ${rank} ${told}${ended}${again}`);
}

const mostNamed = 16;

function listOf(ranks: readonly number[]): string {
  const named = ranks.slice(0, mostNamed).join(', ');
  const more = ranks.length > mostNamed ? ` and ${ranks.length - mostNamed} more` : '';
  return ranks.length === 0 ? 'no rank' : `${ranks.length === 1 ? 'rank' : 'ranks'} ${named}${more}`;
}

function tell(text: string): void {
  process.stderr.write(`coll run: ${text}\n`);
}
