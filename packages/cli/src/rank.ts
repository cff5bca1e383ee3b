import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Guard } from './guard.js';
import { type GroupEnder, isGroupAlive, ownGroup } from './process-group.js';
import type { Command } from './program-command.js';
import type { RankOutput } from './rank-output.js';

/** How the process of a rank ended. */
export interface Ending {
  /**
   * The exit code, as a shell reports it: 128 plus the number of a signal; 126 or 127 if the
   * command cannot be started.
   */
  readonly exitCode: number;
  /** A description of the ending for messages, such as `exited with code 7`. */
  readonly message: string;
}

export interface RankStart {
  readonly rank: number;
  readonly command: Command;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly output: RankOutput;
  readonly guard: Guard;
}

/** The process of one rank and its descendants. */
export class Rank {
  readonly rank: number;
  readonly output: RankOutput;
  /** Resolves once the rank's own process has ended, even if its descendants are still running. */
  readonly ended: Promise<Ending>;
  /** The id of the rank's own process; undefined if it could not be started. */
  #pid: number | undefined;
  readonly #guard: Guard;
  /**
   * The id of the rank's process group. Undefined once the group has no processes, because the
   * system may reuse the id.
   */
  #group: number | undefined;

  constructor({ rank, command, environment, output, guard }: RankStart) {
    this.rank = rank;
    this.output = output;
    this.#guard = guard;
    this.ended = this.#start(command, environment);
  }

  get pid(): number | undefined {
    return this.#pid;
  }

  /**
   * Ends the process and its descendants by SIGTERM, then SIGKILL after the grace period or once
   * `atOnce` is aborted.
   */
  async end(ender: GroupEnder, graceSeconds: number, atOnce: AbortSignal): Promise<void> {
    if (this.#group === undefined) return;
    this.#guard.watchEnding(this.#group);
    await ender.end(this.#group, graceSeconds, atOnce);
    this.#forget();
  }

  async #start(command: Command, environment: RankStart['environment']): Promise<Ending> {
    try {
      const child = spawn(command.file, command.args, {
        ...ownGroup,
        env: environment,
        stdio: [this.rank === 0 ? 'inherit' : 'ignore', 'pipe', 'pipe'],
      });
      const ending = endingOf(child);
      this.output.show(child.stdout, child.stderr);
      if (child.pid !== undefined) {
        this.#pid = child.pid;
        this.#group = child.pid;
        this.#guard.watch(child.pid);
      }
      return await ending;
    } catch (error) {
      return unstarted(command, error as NodeJS.ErrnoException);
    } finally {
      if (this.#group !== undefined && !isGroupAlive(this.#group)) this.#forget();
    }
  }

  #forget(): void {
    if (this.#group !== undefined) this.#guard.forget(this.#group);
    this.#group = undefined;
  }
}

function unstarted({ file }: Command, { code, message }: NodeJS.ErrnoException): Ending {
  const why =
    code === 'ENOENT'
      ? `no command "${file}" was found; scripts have names such as train.js or train.ts`
      : code === 'EACCES'
        ? `"${file}" may not be executed`
        : message;
  return { exitCode: code === 'ENOENT' ? 127 : 126, message: `could not be started: ${why}` };
}

function endingOf(child: ChildProcess): Promise<Ending> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      if (signal === null) resolve({ exitCode: code ?? 1, message: `exited with code ${code}` });
      else resolve({ exitCode: 128 + constants.signals[signal], message: `was ended by ${signal}` });
    });
  });
}
