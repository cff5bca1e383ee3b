import type { RunRequest } from './arguments.js';
import type { Guard } from './guard.js';
import { GroupEnder } from './process-group.js';
import type { Command } from './program-command.js';
import { type Ending, Rank } from './rank.js';
import { colourEnvironment, type Job, rankEnvironment } from './rank-environment.js';
import { openLog, RankOutput } from './rank-output.js';
import { type Failure, tell } from './report.js';

interface FailedRank extends Ending {
  readonly from: Rank;
  /** It does not tell that it has lost a peer. */
  readonly isCause: boolean;
}

export interface GroupStart {
  readonly request: RunRequest;
  readonly command: Command;
  readonly job: Job;
  readonly restart: number;
  readonly guard: Guard;
}

/** How long a rank that has failed may take to end after those that failed because of it. */
const causeSeconds = 2;

/** For who reads their output, however short the grace is. */
const leastReadSeconds = 1;

/** The ranks of one generation: they start together, and if one fails, all are ended. */
export class RankGroup {
  /** Settles when all ranks have ended and their output is printed; with undefined if none failed before `end`. */
  readonly ended: Promise<Failure | undefined>;
  readonly #graceSeconds: number;
  readonly #ranks: readonly Rank[];
  readonly #running = new Set<number>();
  /** Before the ending began, in the order of their ends. */
  readonly #failures: FailedRank[] = [];
  /** Ranks that were running when a failure ended the group. */
  #others: readonly number[] = [];
  readonly #ender = new GroupEnder();
  readonly #atOnce = new AbortController();
  readonly #unread = new AbortController();
  #ending: Promise<unknown> | undefined;

  /** @throws ValueError for a log that cannot be written */
  constructor(start: GroupStart) {
    this.#graceSeconds = start.request.graceSeconds;
    const { ranks } = start.request;
    const outputs = Array.from({ length: ranks }, (_, rank) => outputOf(start, rank));
    this.#ranks = outputs.map((output, rank) => startRank(start, rank, output));
    for (const { rank } of this.#ranks) this.#running.add(rank);
    this.ended = this.#watch();
  }

  get running(): readonly number[] {
    return [...this.#running];
  }

  /** Ranks whose processes have ended. */
  get finished(): readonly number[] {
    return this.#ranks.map(({ rank }) => rank).filter((rank) => !this.#running.has(rank));
  }

  get isEnding(): boolean {
    return this.#ending !== undefined;
  }

  /** Whether it has given up on who reads its output. */
  get isUnread(): boolean {
    return this.#unread.signal.aborted;
  }

  /** Asks the ranks that are left to end, once, and kills those that have not after the grace. */
  end(): Promise<unknown> {
    this.#ending ??= Promise.all(
      this.#ranks.map((rank) => rank.end(this.#ender, this.#graceSeconds, this.#atOnce.signal)),
    );
    return this.#ending;
  }

  /** Ends them for a reason from outside: who reads their output has as long again. */
  interrupt(): void {
    const seconds = Math.max(this.#graceSeconds, leastReadSeconds);
    void this.end().then(() => setTimeout(() => this.#unread.abort(), seconds * 1000).unref());
  }

  /** Ends them at once, and waits for nobody who reads their output. */
  kill(): void {
    this.#atOnce.abort();
    this.#unread.abort();
    void this.end();
  }

  async #watch(): Promise<Failure | undefined> {
    await Promise.all(this.#ranks.map((rank) => this.#watchRank(rank)));
    // Processes that ranks have started and left behind.
    await this.end();
    await Promise.all(this.#ranks.map(({ output }) => output.end(this.#unread.signal)));
    const first = this.#failures.find(({ isCause }) => isCause) ?? this.#failures[0];
    if (!first) return undefined;
    const { from, exitCode, told, isCause } = first;
    const { lastLines, lostPeer } = from.output;
    const lost = isCause ? undefined : this.#others.find((rank) => rank === lostPeer);
    return { rank: from.rank, exitCode, told, others: this.#others, lost, lastLines: lastLines.read() };
  }

  async #watchRank(from: Rank): Promise<void> {
    const ending = await from.ended;
    this.#running.delete(from.rank);
    if (ending.exitCode === 0 || this.isEnding) return;
    const isCause = !(await from.output.tellsOfPeer());
    this.#failures.push({ ...ending, from, isCause });
    if (!isCause) await this.#otherCause();
    if (this.isEnding) return;
    this.#others = this.running;
    void this.end();
  }

  /** A rank that fails tells its peers, and may take longer to end than they do. Waits until it has, or all have. */
  async #otherCause(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, causeSeconds * 1000);
    });
    await Promise.race([late, Promise.all(this.#ranks.map(({ ended }) => ended))]);
    clearTimeout(timer);
  }
}

function outputOf({ request, restart }: GroupStart, rank: number): RankOutput {
  const { logFolder, hasPrefix } = request;
  const log = logFolder === undefined ? undefined : openLog(logFolder, rank, restart);
  log?.on('error', ({ message }) => tell(`the log of rank ${rank} ends here: ${message}`));
  return new RankOutput(hasPrefix ? `[${rank}] ` : '', log);
}

function startRank({ request, command, job, restart, guard }: GroupStart, rank: number, output: RankOutput): Rank {
  const wanted = { ...process.env, ...request.environment };
  const environment = {
    ...colourEnvironment(process.stdout, wanted),
    ...wanted,
    ...rankEnvironment(job, rank, restart),
  };
  return new Rank({ rank, command, environment, output, guard });
}
