import { fstatSync, readSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { isMainThread } from 'node:worker_threads';
import type { Environment } from '../launchers/environment.js';
import { type Membership, membersAreLocal } from '../launchers/membership.js';
import { exchangeByPmi1, finalizePmi1 } from './pmi-1.js';
import { exchangeByPmi2, finalizePmi2 } from './pmi-2.js';
import { PmiConnection } from './pmi-connection.js';
import { exchangeByFile, sessionFile } from './session-folder.js';

/** A way of the launcher by which rank 0 tells all members of a job one text. */
export interface LauncherChannel {
  /** Each member calls this once; rank 0 with the text. Returns the text of rank 0. */
  exchange(text: string | undefined, signal: AbortSignal): Promise<string>;
}

/** The launchers whose processes find a PMI server at the descriptor `PMI_FD`. */
const speakers: readonly string[] = ['MPICH', 'MVAPICH2', 'Cray PALS', 'Flux', 'Slurm'];

/**
 * The channel of the launcher that started this process: PMI-1 or PMI-2 at an inherited descriptor,
 * or the folder of a PMIx job on one host. Undefined if there is none, or it is in use.
 */
export function launcherChannel(membership: Membership, environment: Environment): LauncherChannel | undefined {
  const { launcher, rank } = membership;
  const { PMI_FD, PMI_JOBID: job } = environment;
  if (PMI_FD && isMainThread && speakers.includes(launcher) && isSocket(Number(PMI_FD)) && claimPmi('coll')) {
    const descriptor = Number(PMI_FD);
    if (launcher !== 'Slurm') return new PmiChannel(descriptor, finalizePmi1, exchangeByPmi1);
    if (job) return new PmiChannel(descriptor, finalizePmi2, (pmi, text) => exchangeByPmi2(pmi, text, { job, rank }));
  }
  const file = membersAreLocal(membership) ? sessionFile(environment) : undefined;
  return file === undefined ? undefined : { exchange: (text, signal) => exchangeByFile(file, text, signal) };
}

// One flag per process, because the packages may be present in several versions.
const claimed = Symbol.for('coll.pmi');

/**
 * Reserves the PMI connection of this process, which serves one user. A plug-in that starts an MPI
 * library calls this first, and refuses to start if it returns false.
 * @returns whether the connection is free, or already belongs to `owner`
 */
export function claimPmi(owner: 'coll' | 'mpi'): boolean {
  const flags = globalThis as { [claimed]?: string };
  flags[claimed] ??= owner;
  return flags[claimed] === owner;
}

// Child processes inherit the variable, but not the descriptor.
function isSocket(descriptor: number): boolean {
  try {
    return Number.isInteger(descriptor) && fstatSync(descriptor).isSocket();
  } catch {
    return false;
  }
}

/** The PMI connections of this process that have not been finalized. */
const open = new Set<PmiChannel>();
let groups = 0;

/**
 * Keeps the launcher's PMI open while a group is: if the process of a member dies, the launcher
 * ends the others.
 * @returns a function that says that the group is closed
 */
export function holdLauncher(): () => void {
  groups += 1;
  return () => {
    groups -= 1;
    if (groups === 0) for (const channel of open) channel.finalize();
  };
}

type Exchange = (connection: PmiConnection, text: string | undefined) => Promise<string>;

class PmiChannel implements LauncherChannel {
  readonly #descriptor: number;
  readonly #finalize: string;
  readonly #run: Exchange;
  #socket: Socket | undefined;

  constructor(descriptor: number, finalize: string, run: Exchange) {
    this.#descriptor = descriptor;
    this.#finalize = finalize;
    this.#run = run;
  }

  async exchange(text: string | undefined): Promise<string> {
    const socket = new Socket({ fd: this.#descriptor, readable: true, writable: true });
    this.#socket = socket;
    open.add(this);
    process.on('exit', this.#leave);
    try {
      return await this.#run(new PmiConnection(socket), text);
    } finally {
      socket.unref();
    }
  }

  /** Tells the launcher that this process may end without the others. */
  finalize(): void {
    open.delete(this);
    process.removeListener('exit', this.#leave);
    finalizeNow(this.#descriptor, this.#finalize);
    this.#socket?.destroy();
  }

  // A process that fails ends without a word, so that the launcher ends the others.
  readonly #leave = (code: number) => {
    if (code === 0) this.finalize();
  };
}

const mostWaits = 2000;

/**
 * Finalizes PMI without the event loop, because the process may be exiting. Waits for the answer,
 * for at most 2 seconds: Hydra ends the whole job if it cannot deliver it.
 */
function finalizeNow(descriptor: number, request: string): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  try {
    writeSync(descriptor, request);
    for (let waits = 0; waits < mostWaits; waits++) {
      if (hasAnswer(descriptor)) return;
      Atomics.wait(pause, 0, 0, 1);
    }
  } catch {
    // The launcher has ended.
  }
}

/** Reads an answer, if there is one; the descriptor does not block. */
function hasAnswer(descriptor: number): boolean {
  try {
    readSync(descriptor, Buffer.alloc(1024));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
    throw error;
  }
}
