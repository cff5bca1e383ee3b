import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { knownOptions, requireKnownOptions } from '@coll/core/internal';
import { type OpenGroup, TestGroup } from './group.js';
import type { MemberRequest } from './member-info.js';
import { MessageSocket } from './message-socket.js';
import { memberOf, type ProcessRanks, typeScriptFlags } from './process-ranks.js';
import { RankClient, type RankHost } from './rank-client.js';
import type { Reply } from './rank-messages.js';
import type { Introduction } from './rank-process.js';
import { moduleBeside } from './start-thread.js';
import type { ModuleExport } from './suite-algorithm.js';

/** What is used of a launcher's `ChildProcess`; its own type would need the types of Node. */
export interface LauncherProcess {
  readonly exitCode: number | null;
  readonly signalCode: string | null;
  /** Ends the launcher. */
  kill(signal: 'SIGKILL'): boolean;
  /** Calls the listener at the end of the launcher, or if it cannot be started. */
  once(event: 'error', listener: (error: Error) => void): unknown;
  once(event: 'exit', listener: (code: number | null, signal: string | null) => void): unknown;
  /** Keeps this process alive until the launcher ends. */
  ref(): void;
  /** Lets this process end before the launcher. */
  unref(): void;
}

/** How a launcher starts the processes that become members of groups. */
export interface LaunchedRanksOptions {
  /**
   * A module's export: a function of the type `Join`, which every process calls. This function and
   * the launcher determine the rank of each process.
   */
  readonly join: ModuleExport;
  /**
   * Starts `size` processes that run this command line, for example with `mpirun -n SIZE`, and
   * returns the launcher. They connect to a socket in the folder for temporary files of this host.
   */
  readonly launch: (size: number, command: readonly string[]) => LauncherProcess;
}

const launchedRanksOptions = knownOptions<LaunchedRanksOptions>('launchedRanks', { join: true, launch: true });

/**
 * Opens groups of processes that a launcher starts, one member per process. The processes of a
 * group serve later groups of the same size, until one of them has ended.
 * @throws ValueError for an unknown option
 *
 * @example
 * ```ts
 * import { spawn } from 'node:child_process';
 * import { test } from 'node:test';
 * import { executorSuite, launchedRanks } from '@coll/testing';
 *
 * // The module exports a function of the type `Join`, which each process calls.
 * const join = { module: new URL('./join.js', import.meta.url).href, export: 'join' };
 * const launch = (size: number, command: readonly string[]) => spawn('mpirun', ['-n', `${size}`, ...command]);
 * const { open } = launchedRanks({ join, launch });
 * executorSuite({ test, name: 'under mpirun', open, ranks: [2], lacks: ['crash', 'reserve'] });
 * ```
 */
export function launchedRanks(options: LaunchedRanksOptions): ProcessRanks {
  requireKnownOptions(options, launchedRanksOptions);
  const { join, launch } = options;
  const jobs = new Map<number, Promise<Job>>();
  const open: OpenGroup = async (algorithm, size) => {
    const known = await jobs.get(size)?.catch(() => undefined);
    const job = known && !known.hasEnded ? Promise.resolve(known) : Job.start(size, join, launch);
    jobs.set(size, job);
    const { clients } = await job;
    const group = groups++;
    const members = await Promise.all(
      clients.map((client, member) =>
        memberOf(client, {
          type: 'join',
          join,
          source: algorithm?.source,
          info: { group, member, members: size, size },
        }),
      ),
    );
    return new TestGroup({ members: members.sort((a, b) => Number(a.localRanks[0]) - Number(b.localRanks[0])) });
  };
  const close = async () => {
    const started = [...jobs.values()];
    jobs.clear();
    await Promise.all(started.map(async (job) => (await job.catch(() => undefined))?.end()));
  };
  return { open, close, [Symbol.asyncDispose]: close };
}

let groups = 0;

// A machine that is busy with other tests may need some seconds.
const patienceMillis = 30_000;

/** The processes that a launcher has started at once. */
class Job {
  readonly clients: readonly RankClient<MemberRequest>[];
  readonly #launcher: LauncherProcess;
  readonly #server: Server;
  readonly #folder: string;
  readonly #processes: readonly LaunchedProcess[];

  private constructor(
    launcher: LauncherProcess,
    server: Server,
    folder: string,
    processes: readonly LaunchedProcess[],
  ) {
    this.#launcher = launcher;
    this.#server = server;
    this.#folder = folder;
    this.#processes = processes;
    this.clients = processes.map((host) => new RankClient(host));
  }

  static async start(size: number, { module }: ModuleExport, launch: LaunchedRanksOptions['launch']): Promise<Job> {
    const folder = mkdtempSync(path.join(tmpdir(), 'coll-ranks-'));
    const address = path.join(folder, 'socket');
    const sockets: Socket[] = [];
    const server = createServer((socket) => void sockets.push(socket)).listen(address);
    const program = fileURLToPath(moduleBeside('rank-process'));
    const launcher = launch(size, [process.execPath, ...typeScriptFlags(module), program, address]);
    try {
      await allConnected(size, server, sockets, launcher);
      return new Job(launcher, server, folder, await Promise.all(sockets.map(introduced)));
    } catch (error) {
      launcher.kill('SIGKILL');
      server.close();
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  get hasEnded(): boolean {
    return this.clients.some(({ hasEnded }) => hasEnded);
  }

  /**
   * Lets the processes exit by themselves, so that those of an MPI job finalize it. Kills them if
   * they do not.
   * @throws Error in that case, or if the launcher reports a failure
   */
  async end(): Promise<void> {
    this.#server.close();
    const launcher = this.#launcher;
    const hasFailed = this.hasEnded;
    const ended = new Promise((resolve) => launcher.once('exit', resolve));
    launcher.ref();
    for (const process of this.#processes) process.leave();
    let isKilled = false;
    const patience = setTimeout(() => {
      isKilled = true;
      for (const process of this.#processes) process.kill();
      launcher.kill('SIGKILL');
    }, patienceMillis);
    if (launcher.exitCode === null && launcher.signalCode === null) await ended;
    clearTimeout(patience);
    rmSync(this.#folder, { recursive: true, force: true });
    if (hasFailed) return;
    if (isKilled) throw new Error(`the processes have not exited within ${patienceMillis / 1000} s`);
    const { exitCode, signalCode } = launcher;
    if (exitCode !== 0) throw new Error(`the launcher has ended with ${signalCode ?? exitCode}`);
  }
}

async function allConnected(size: number, server: Server, sockets: readonly Socket[], launcher: LauncherProcess) {
  await new Promise<void>((resolve, reject) => {
    server.on('connection', () => {
      if (sockets.length === size) resolve();
    });
    server.once('error', reject);
    launcher.once('error', reject);
    launcher.once('exit', (code, signal) => reject(new Error(`the launcher has ended with ${signal ?? code}`)));
  });
  server.unref();
  launcher.unref();
}

/** Waits for the first message of a process. */
async function introduced(socket: Socket): Promise<LaunchedProcess> {
  const messages = new MessageSocket(socket);
  const pid = await new Promise<number>((resolve, reject) => {
    messages.listen((message) => resolve((message as Introduction).pid));
    socket.once('close', () => reject(new Error('the process has ended')));
  });
  return new LaunchedProcess(messages, pid);
}

class LaunchedProcess implements RankHost {
  readonly kind = 'process';
  readonly #messages: MessageSocket;
  readonly #pid: number;
  readonly #closed: Promise<unknown>;
  #isLeaving = false;

  constructor(messages: MessageSocket, pid: number) {
    this.#messages = messages;
    this.#pid = pid;
    this.#closed = new Promise((resolve) => messages.socket.once('close', resolve));
  }

  post(message: unknown): void {
    this.#messages.send(message);
  }

  listen(onReply: (reply: Reply) => void, onEnd: (error: Error) => void): void {
    this.#messages.listen((message) => onReply(message as Reply));
    // A process that is killed may reset the connection; the end of the process is reported once.
    this.#messages.socket.on('error', () => {});
    this.#messages.socket.once('close', () => onEnd(new Error('the process has ended')));
  }

  hold(isHeld: boolean): void {
    if (isHeld) this.#messages.socket.ref();
    else this.#messages.socket.unref();
  }

  /** Lets the process exit. */
  leave(): void {
    this.#isLeaving = true;
    this.#messages.socket.end();
  }

  terminate(): Promise<unknown> {
    if (!this.#isLeaving) this.kill();
    return this.#closed;
  }

  kill(): void {
    try {
      process.kill(this.#pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
