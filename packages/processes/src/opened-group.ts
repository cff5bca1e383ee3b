import { isMainThread } from 'node:worker_threads';
import { type Algorithm, type CollError, type Communicator, type Link, RuntimeError } from '@coll/core';
import {
  checkedResults,
  communicatorFor,
  type GroupLog,
  LocalMembers,
  linkMeasurementOf,
  Member,
  messageOf,
  recorder,
  recordFailure,
  speedsText,
} from '@coll/core/internal';
import { type Calibration, describeCalibration } from '@coll/native/addon';
import { describeMachine, findMachine } from '@coll/native/machine';
import { holdLauncher } from '@coll/rendezvous/internal';
import type { GroupExplanation } from './explanation.js';
import { logOpened } from './group-lines.js';
import type { LocalRank } from './local-rank.js';
import type { OpenedProcessGroup } from './opened-process-group.js';
import type { MemoryHandle, processBinding } from './process-binding.js';
import { ProcessCommunicator } from './process-communicator.js';
import type { NativeProcessGroup } from './process-group.js';
import { ProcessRank, type ProcessRankOptions } from './process-rank.js';

/** The parts of a group that were created while it was opened. */
export interface OpenedGroupOptions extends Pick<ProcessRankOptions, 'mesh' | 'recorded' | 'split'> {
  /** The algorithm of the group's own collective methods. */
  readonly algorithm: Algorithm;
  /** After how many collectives members compare results; 0 means never. */
  readonly checkResults: number;
  readonly binding: ReturnType<typeof processBinding>;
  readonly group: NativeProcessGroup;
  /** The memory of all members, if they share it. */
  readonly memory: MemoryHandle | undefined;
  readonly generation: number;
  readonly hosts: readonly string[];
  readonly links: readonly Link[];
  /** How the TCP connections are protected, for logs; undefined if they are not. */
  readonly protection: string | undefined;
  /** The thresholds of the group; undefined for a group that sends messages. */
  readonly calibration: Calibration | undefined;
  /** This member among those that may use the same cores. */
  readonly local: LocalRank;
  /** Marks this run as ended well in its store; undefined if no other run uses the store. */
  readonly finish: (() => Promise<void>) | undefined;
  /** Stops listening for messages of other members. */
  readonly stopListening: () => void;
}

// One exit listener for all groups, because Node.js warns of many.
const opened = new Map<NativeProcessGroup, { readonly own: ProcessRank; readonly logEnd: () => void }>();

// Time for the other members to read the messages of a process that ends with exit code 0.
const longestDrainMillis = 5000;

// After `close`, the others learn only after this time that this member has left. If an exception ends
// the process until then, as in a block with `await using`, they learn of the exception instead.
const leaveDelayMillis = 500;

let uncaught: { readonly error: unknown } | undefined;

function keepUncaught(error: unknown): void {
  uncaught = { error };
}

function leaveAll(code: number): void {
  const ranks = [...opened.values()].map(({ own }) => own);
  const sockets = ranks.flatMap(({ messageSockets }) => messageSockets);
  // All connections at once: two members of this process may have one with each other.
  if (code === 0 && sockets.length > 0)
    ranks[0]?.binding.processes.endSockets(Int32Array.from(sockets), longestDrainMillis);
  const text = uncaught ? `: ${messageOf(uncaught.error)}` : '';
  if (code !== 0) recorder?.note({ kind: 'exit', text: `ended with exit code ${code}${text}` });
  for (const { logEnd } of opened.values()) logEnd();
  for (const group of opened.keys()) group.exit(code === 0 ? undefined : `ended with exit code ${code}${text}`);
  for (const group of opened.keys()) group.waitForExit();
}

/**
 * A member of an open group of processes. When its process exits, the member leaves the group or
 * reports the reason to the other members.
 */
export class OpenedGroup extends Member implements OpenedProcessGroup {
  readonly generation: number;
  readonly hosts: readonly string[];
  readonly links: readonly Link[];
  readonly #options: OpenedGroupOptions;
  readonly #own: ProcessRank;
  readonly #release = holdLauncher();
  #closing: Promise<void> | undefined;
  #log: GroupLog | undefined;

  constructor(options: OpenedGroupOptions) {
    const { group, generation, hosts, links, algorithm } = options;
    const { rank, size } = group;
    const own = new ProcessRank({ ...options, communicator: (rank, other) => new ProcessCommunicator(rank, other) });
    super({
      rank,
      size,
      algorithm,
      local: new LocalMembers({ localRanks: [rank], communicator: () => communicatorFor(this, algorithm) }),
    });
    this.generation = generation;
    this.hosts = hosts;
    this.links = links;
    this.#options = options;
    this.#own = own;
    if (opened.size === 0) process.on('exit', leaveAll).on('uncaughtExceptionMonitor', keepUncaught);
    opened.set(group, { own, logEnd: () => this.#logEnd() });
  }

  communicator(algorithm: Algorithm): Communicator {
    const { group, checkResults } = this.#options;
    if (!group.isClosed) return checkedResults(this.#own.communicator(algorithm), checkResults);
    const details = { rank: this.rank, operation: 'communicator' };
    throw new RuntimeError('ERR_COLL_CLOSED', 'this process group was closed; open a new group', details);
  }

  fail(error: unknown): void {
    this.#options.group.fail('failed', `failed: ${messageOf(error)}`);
  }

  failure(): CollError | undefined {
    return this.#options.group.failure();
  }

  /** Logs that all members have opened the group. `isPart`: whether it was made by `split`. */
  logOpened(isPart: boolean): void {
    const { rank, hosts, links } = this;
    const { binding, algorithm, protection, local } = this.#options;
    this.#log = logOpened({ rank, hosts, links, protection, simd: binding.simd, algorithm, local, isPart });
  }

  explain(): GroupExplanation {
    const { binding, memory, local, calibration } = this.#options;
    const machine = findMachine();
    const hasOwnCore = local.ranks <= local.cores;
    const share = hasOwnCore ? 'each has a core of its own' : 'waiting members give their core away soon';
    const crowd = `${local.ranks} on ${local.cores === 1 ? '1 core' : `${local.cores} cores`}: ${share}`;
    const player = memory ? 'shared-memory' : 'messages';
    const head = `rank ${this.rank} of ${this.size}, generation ${this.generation}: executed in C++ with ${binding.simd}`;
    const means = memory ? ', all members in shared memory' : ', by messages';
    const speeds = linkMeasurementOf(this)?.speeds;
    const lines = this.links.map(({ rank, transport, reason }) => `rank ${rank} over ${transport}: ${reason}`);
    return {
      engine: 'native',
      simd: binding.simd,
      player,
      links: this.links,
      linkSpeeds: speeds,
      machine,
      hasOwnCore,
      calibration,
      text: [
        `${head}${this.size > 1 ? means : ''}`,
        `machine: ${describeMachine(machine)}; members ${crowd}`,
        ...(calibration ? [`thresholds: ${describeCalibration(calibration)}`] : []),
        ...(speeds ? [`measured: ${speedsText(speeds)}`] : []),
        ...lines,
      ].join('\n'),
    };
  }

  #logEnd(): void {
    const failure = this.#options.group.failure();
    this.#log?.close({
      order: this.#own.order,
      secondsInCalls: linkMeasurementOf(this)?.secondsInCalls(),
      // The members of a group end it by leaving one after the other.
      failure: failure?.code === 'ERR_COLL_CLOSED' ? undefined : failure,
    });
  }

  override close(): Promise<void> {
    this.#closing ??= this.#leave();
    return this.#closing;
  }

  async #leave(): Promise<void> {
    const { group, stopListening, finish, recorded } = this.#options;
    this.#logEnd();
    const failure = group.failure();
    if (failure) recordFailure(recorded, failure);
    recorder?.note({ kind: 'closed', text: '', group: recorded });
    // Without the store, which the program may have closed, the next run needs another generation.
    const finished = failure === undefined ? finish?.().catch(() => {}) : undefined;
    const drained = this.#own.close();
    stopListening();
    // Another thread may be terminated right after this, without an exit event.
    if (!isMainThread) await Promise.all([drained, this.#left(0), finished]);
    else {
      const closed = Promise.all([drained, finished]);
      void this.#left(leaveDelayMillis, closed);
      await closed;
    }
  }

  async #left(delayMillis: number, after?: Promise<unknown>): Promise<void> {
    const { binding, group, memory } = this.#options;
    await group.close(delayMillis, after);
    opened.delete(group);
    if (opened.size === 0) process.off('exit', leaveAll).off('uncaughtExceptionMonitor', keepUncaught);
    if (memory) binding.processes.releaseMemory(memory);
    this.#release();
  }
}
