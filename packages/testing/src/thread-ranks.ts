import { type Engine, jsEngine, type ThreadGroup } from '@coll/core';
import { knownOptions, requireKnownOptions } from '@coll/core/internal';
import { type Call, type GroupMember, type OpenGroup, type Outcome, TestGroup } from './group.js';
import { buffersOf, decodeError, type ExecutionReport } from './rank-messages.js';
import type { ModuleExport } from './suite-algorithm.js';
import { ThreadClient, type ThreadClientOptions } from './thread-client.js';

/** How the threads of ranks start and wait, and the engine they use. */
export interface ThreadRanksOptions extends ThreadClientOptions {
  /**
   * Number of times that a thread polls before it sleeps while it waits, as in `createThreadGroup`.
   */
  readonly spins?: number | undefined;
  /** The engine that creates and joins groups. Default: plain JavaScript. */
  readonly engine?: Engine | undefined;
  /**
   * The URL of a module that registers `engine` when a thread imports it. Required unless the
   * engine is one of @coll/core.
   */
  readonly engineModule?: string | undefined;
}

const threadRanksOptions = knownOptions<ThreadRanksOptions>('threadRanks', {
  spins: true,
  engine: true,
  engineModule: true,
  typescript: true,
});

/** Groups whose ranks live in worker threads. */
export interface ThreadRanks extends AsyncDisposable {
  readonly open: OpenGroup;
  /** Ends the threads. They do not keep the process alive. */
  close(): Promise<void>;
}

/**
 * Opens groups with a worker thread per rank. Threads start when a group first needs them and serve
 * all groups after it. Threads load an algorithm from the module in the algorithm's `source`.
 * @throws ValueError for an unknown option
 *
 * @example
 * ```ts
 * import { tensor } from '@coll/core';
 * import { direct, directAlgorithm } from '@coll/direct';
 * import { threadRanks } from '@coll/testing';
 *
 * await using threads = threadRanks();
 * const source = { module: direct.module, export: 'direct' };
 * await using group = await threads.open({ algorithm: directAlgorithm(), source }, 2);
 * const buffers = [tensor(new Float32Array([1])), tensor(new Float32Array([2]))];
 * await group.run({ kind: 'all-reduce', op: 'sum' }, buffers, buffers);
 * console.log(buffers[0]?.data); // Float32Array(1) [ 3 ]
 * ```
 */
export function threadRanks(options: ThreadRanksOptions = {}): ThreadRanks {
  requireKnownOptions(options, threadRanksOptions);
  const { spins, engine = jsEngine, engineModule, ...client } = options;
  const threads: ThreadClient[] = [];
  const threadOf = (rank: number, { module }: ModuleExport): ThreadClient => {
    const known = threads[rank];
    if (known && !known.hasEnded) return known;
    const made = new ThreadClient(module, client);
    threads[rank] = made;
    return made;
  };
  const close = async () => {
    await Promise.all(threads.splice(0).map((thread) => thread.terminate()));
  };
  return {
    open: async (algorithm, size) => {
      const source = algorithm?.source;
      if (!source) throw new Error(`threads cannot load ${algorithm?.algorithm.name}: pass its module as source`);
      const group = engine.createGroup({ size, ...(spins === undefined ? {} : { spins }) });
      const ranks = Array.from({ length: size }, (_, rank) => rank);
      return new TestGroup({
        members: await Promise.all(
          ranks.map((rank) => join(threadOf(rank, source), { rank, threads: group, source, engineModule })),
        ),
      });
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

let groups = 0;

interface RankInfo {
  readonly rank: number;
  readonly threads: ThreadGroup;
  readonly source: ModuleExport;
  readonly engineModule: string | undefined;
}

async function join(thread: ThreadClient, info: RankInfo): Promise<GroupMember> {
  const group = groups++;
  const { rank } = info;
  await thread.request({ type: 'join', group, ...info });
  return {
    localRanks: [rank],
    refuses: (collective, dtype) => thread.request({ type: 'refuses', group, collective, dtype }),
    execute: async (calls) => takeOver(calls, await thread.request<ExecutionReport>({ type: 'execute', group, calls })),
    reserve: (bytes) => thread.request({ type: 'reserve', group, bytes }),
    close: async () => {
      if (!thread.hasEnded) await thread.request({ type: 'close', group });
    },
    crash: () => thread.terminate(),
  };
}

/** Copies the buffers from the thread back into the caller's buffers, and returns the outcomes. */
function takeOver(calls: readonly Call[], { outcomes, buffers }: ExecutionReport): Outcome[] {
  calls.forEach((call, index) => {
    buffersOf(call).forEach((buffer, position) => {
      const held = buffers[index]?.[position];
      if (held) new Uint8Array(buffer).set(new Uint8Array(held));
    });
  });
  return outcomes.map((outcome) => outcome && decodeError(outcome));
}
