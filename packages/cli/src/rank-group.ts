import { rankList } from '@coll/core/internal';
import { recordEnd, recordFolder } from '@coll/native/record';
import type { RunRequest } from './arguments.js';
import type { Guard } from './guard.js';
import type { Interruptible } from './interruptions.js';
import { GroupEnder } from './process-group.js';
import type { Command } from './program-command.js';
import { type Ending, Rank } from './rank.js';
import { colourEnvironment, type Job, rankEnvironment } from './rank-environment.js';
import { openLog, RankOutput } from './rank-output.js';
import { type Failure, tell } from './report.js';

interface FailedRank extends Ending {
  readonly from: Rank;
  /**
   * Whether this rank may be the cause of the failure; false if its stderr reports that it lost a
   * peer.
   */
  readonly isCause: boolean;
}

export interface GroupStart {
  readonly request: RunRequest;
  readonly command: Command;
  readonly job: Job;
  readonly restart: number;
  readonly guard: Guard;
}

/**
 * Maximum seconds to wait for the exit of the rank that failed first, after another rank has failed
 * because of it.
 */
const causeSeconds = 2;

/**
 * Minimum number of seconds for which the output may still be read after an interruption, even if
 * the grace period is shorter.
 */
const leastReadSeconds = 1;

/** The ranks of one generation, which start together. If one fails, all others are ended. */
export class RankGroup implements Interruptible {
  /**
   * Resolves once all ranks have ended and their output is printed. The value is the first failure,
   * or undefined if no rank had failed when `end` was called.
   */
  readonly ended: Promise<Failure | undefined>;
  readonly #job: string;
  readonly #graceSeconds: number;
  readonly #ranks: readonly Rank[];
  readonly #running = new Set<number>();
  /** Ranks that failed before the group was ended, in the order of their failures. */
  readonly #failures: FailedRank[] = [];
  /** Ranks that were running when a failure ended the group. */
  #others: readonly number[] = [];
  readonly #ender = new GroupEnder();
  readonly #atOnce = new AbortController();
  readonly #unread = new AbortController();
  #ending: Promise<unknown> | undefined;

  /** Starts the ranks. @throws ValueError if a log file cannot be written */
  constructor(start: GroupStart) {
    this.#job = start.job.name;
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

  get runningText(): string | undefined {
    return this.#running.size === 0 ? undefined : rankList(this.running);
  }

  /** Ranks whose processes have ended. */
  get finished(): readonly number[] {
    return this.#ranks.map(({ rank }) => rank).filter((rank) => !this.#running.has(rank));
  }

  get isEnding(): boolean {
    return this.#ending !== undefined;
  }

  /** Whether the group no longer waits until its output has been read. */
  get isUnread(): boolean {
    return this.#unread.signal.aborted;
  }

  /**
   * Sends SIGTERM to the remaining ranks, and SIGKILL after the grace period. Later calls return
   * the same promise.
   */
  end(): Promise<unknown> {
    this.#ending ??= Promise.all(
      this.#ranks.map((rank) => rank.end(this.#ender, this.#graceSeconds, this.#atOnce.signal)),
    );
    return this.#ending;
  }

  /**
   * Ends the ranks because the run was interrupted. Their output may then be read for one more
   * grace period.
   */
  interrupt(): void {
    const seconds = Math.max(this.#graceSeconds, leastReadSeconds);
    void this.end().then(() => setTimeout(() => this.#unread.abort(), seconds * 1000).unref());
  }

  /** Kills the ranks at once, without waiting until their output has been read. */
  kill(): void {
    this.#atOnce.abort();
    this.#unread.abort();
    void this.end();
  }

  async #watch(): Promise<Failure | undefined> {
    await Promise.all(this.#ranks.map((rank) => this.#watchRank(rank)));
    // Ends processes that ranks have started and left running.
    await this.end();
    await Promise.all(this.#ranks.map(({ output }) => output.end(this.#unread.signal)));
    const first = this.#failures.find(({ isCause }) => isCause) ?? this.#failures[0];
    if (!first) return undefined;
    const { from, exitCode, message, isCause } = first;
    const { lastLines, lostPeer } = from.output;
    const lost = isCause ? undefined : this.#others.find((rank) => rank === lostPeer);
    return { rank: from.rank, exitCode, message, others: this.#others, lost, lastLines: lastLines.read() };
  }

  async #watchRank(from: Rank): Promise<void> {
    const ending = await from.ended;
    this.#running.delete(from.rank);
    if (ending.exitCode === 0 || this.isEnding) return;
    this.#record(from, ending);
    const isCause = !(await from.output.tellsOfPeer());
    this.#failures.push({ ...ending, from, isCause });
    if (!isCause) await this.#otherCause();
    if (this.isEnding) return;
    this.#others = this.running;
    void this.end();
  }

  /** Notes in the flight records how a rank has ended, because the others may be ended before they notice. */
  #record({ pid }: Rank, { exitCode }: Ending): void {
    const folder = recordFolder({ mayCreate: false });
    if (pid !== undefined && 'path' in folder) recordEnd(folder.path, { job: this.#job, pid, exitCode });
  }

  /**
   * Waits until all ranks have ended, but at most `causeSeconds`. The rank that failed first
   * notifies its peers, so it may exit later than they do.
   */
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
  log?.on('error', ({ message }) => tell(`the log file of rank ${rank} is incomplete: ${message}`));
  return new RankOutput(hasPrefix ? `[${rank}] ` : '', log);
}

function startRank({ request, command, job, restart, guard }: GroupStart, rank: number, output: RankOutput): Rank {
  const wanted = { ...process.env, ...request.environment };
  const environment = {
    ...colourEnvironment(process.stdout, wanted),
    ...wanted,
    ...rankEnvironment(job, rank, restart),
    // The threads of a rank label their own lines.
    ...(request.hasPrefix ? {} : { COLL_PREFIX: '0' }),
  };
  return new Rank({ rank, command, environment, output, guard });
}
