import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { knownOptions, requireKnownOptions } from '@coll/core/internal';
import { type GroupMember, type OpenGroup, TestGroup } from './group.js';
import type { MemberRequest } from './member-info.js';
import { type PackedOutcomes, packCall, takeOutcomes } from './packed-call.js';
import { RankClient, type RankHost } from './rank-client.js';
import type { Reply } from './rank-messages.js';
import { conditions, moduleBeside, needsTypeScript } from './start-thread.js';
import type { ModuleExport } from './suite-algorithm.js';

/** How processes become members of groups. */
export interface ProcessRanksOptions {
  /**
   * A module's export: a function of the type `Join`, which every member calls. Its argument, a
   * `MemberInfo`, contains the `options` of the export.
   */
  readonly join: ModuleExport;
  /** The number of members of a group of `size` ranks. Default: one per rank. */
  readonly membersOf?: (size: number) => number;
  /**
   * The number of members per process, each in its own worker thread. Default: one member per
   * process, in its main thread.
   */
  readonly threadsPerProcess?: number;
}

const processRanksOptions = knownOptions<ProcessRanksOptions>('processRanks', {
  join: true,
  membersOf: true,
  threadsPerProcess: true,
});

/** Groups whose members are processes. */
export interface ProcessRanks extends AsyncDisposable {
  readonly open: OpenGroup;
  /** Ends the processes. They also end with this process, which they do not keep alive. */
  close(): Promise<void>;
}

/**
 * Opens groups with a Node.js process per member, or with several members per process. Processes
 * start when a group first needs them and serve all groups after it. Processes load an algorithm
 * from the module in the algorithm's `source`.
 * @throws ValueError for an unknown option
 *
 * @example
 * ```ts
 * import { test } from 'node:test';
 * import { executorSuite, processRanks } from '@coll/testing';
 *
 * // The module exports a function of the type `Join`, which each process calls.
 * const join = { module: new URL('./join.js', import.meta.url).href, export: 'join' };
 * const { open } = processRanks({ join });
 * executorSuite({ test, name: 'in processes', open });
 * ```
 */
export function processRanks(options: ProcessRanksOptions): ProcessRanks {
  requireKnownOptions(options, processRanksOptions);
  const { join, membersOf = (size) => size, threadsPerProcess } = options;
  const processes: RankProcess[] = [];
  const processAt = (index: number): RankProcess => {
    const known = processes[index];
    if (known && !known.hasEnded) return known;
    const made = new RankProcess(join.module);
    processes[index] = made;
    return made;
  };
  const clientOf = (member: number): Client =>
    threadsPerProcess === undefined
      ? processAt(member).client
      : processAt(Math.floor(member / threadsPerProcess)).threadClient(member % threadsPerProcess);
  const close = async () => {
    await Promise.all(processes.splice(0).map((started) => started.terminate()));
  };
  return {
    open: async (algorithm, size) => {
      const group = groups++;
      const members = membersOf(size);
      const infos = Array.from({ length: members }, (_, member) => ({ group, member, members, size }));
      return new TestGroup({
        members: await Promise.all(
          infos.map((info) => memberOf(clientOf(info.member), { type: 'join', join, source: algorithm?.source, info })),
        ),
      });
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

let groups = 0;

type Client = RankClient<MemberRequest>;

/** Makes a process join a group. */
export async function memberOf(
  client: Client,
  request: MemberRequest & { readonly type: 'join' },
): Promise<GroupMember> {
  const { group } = request.info;
  const localRanks = await client.request<readonly number[]>(request);
  return {
    localRanks,
    refuses: (collective, dtype) => client.request({ type: 'refuses', group, collective, dtype }),
    execute: async (calls) =>
      takeOutcomes(calls, await client.request<PackedOutcomes>({ type: 'execute', group, calls: calls.map(packCall) })),
    close: async () => {
      if (!client.hasEnded) await client.request({ type: 'close', group });
    },
    crash: () => client.terminate(),
  };
}

/** A process that hosts a member in its main thread, or several members in threads. */
class RankProcess {
  readonly client: Client;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #threads = new Map<number, Client>();
  readonly #held = new Set<RankHost>();

  constructor(module: string) {
    this.#child = fork(fileURLToPath(moduleBeside('rank-process')), {
      serialization: 'advanced',
      execArgv: typeScriptFlags(module),
    });
    // Each thread adds a listener.
    this.#child.setMaxListeners(0);
    this.#ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.client = new RankClient(this.#host(undefined));
    endWithUs(this.#child);
  }

  get hasEnded(): boolean {
    return this.client.hasEnded;
  }

  threadClient(thread: number): Client {
    const known = this.#threads.get(thread);
    if (known) return known;
    const made: Client = new RankClient(this.#host(thread));
    this.#threads.set(thread, made);
    return made;
  }

  terminate(): Promise<void> {
    return this.client.terminate();
  }

  /**
   * The connection to a thread of the process; `undefined` means the main thread. Requests are
   * numbered separately for each connection, so a reply names the thread that sends it.
   */
  #host(thread: number | undefined): RankHost {
    const child = this.#child;
    const host: RankHost = {
      kind: 'process',
      post: (message) => void child.send({ ...(message as object), ...(thread === undefined ? {} : { thread }) }),
      listen(onReply, onEnd) {
        child.on('message', (reply: Reply & { readonly thread?: number }) => {
          if (reply.thread === thread) onReply(reply);
        });
        child.once('error', onEnd);
        child.once('exit', (code, signal) => onEnd(new Error(`the process has ended with ${signal ?? code}`)));
      },
      hold: (isHeld) => this.#hold(host, isHeld),
      terminate: () => {
        child.kill('SIGKILL');
        return this.#ended;
      },
    };
    return host;
  }

  #hold(host: RankHost, isHeld: boolean): void {
    if (isHeld) this.#held.add(host);
    else this.#held.delete(host);
    for (const handle of [this.#child, this.#child.channel]) {
      if (this.#held.size > 0) handle?.ref();
      else handle?.unref();
    }
  }
}

const children = new Set<ChildProcess>();

/**
 * Kills the child process when this process exits. A child whose thread is blocked would not notice
 * the exit.
 */
function endWithUs(child: ChildProcess): void {
  if (children.size === 0) process.once('exit', endChildren);
  children.add(child);
  child.once('exit', () => {
    children.delete(child);
    if (children.size === 0) process.off('exit', endChildren);
  });
}

function endChildren(): void {
  for (const child of children) child.kill('SIGKILL');
}

/** The flags of Node.js with which a process loads this package and a module. */
export function typeScriptFlags(module: string): string[] {
  return [...(needsTypeScript(module) ? ['--import', tsx(module)] : []), ...conditions];
}

/**
 * The URL of the tsx loader that is installed in the module's project or, if there is none, of the
 * one that is installed for this package.
 * @throws Error if there is none
 */
function tsx(module: string): string {
  for (const from of [module, import.meta.url]) {
    try {
      return pathToFileURL(createRequire(from).resolve('tsx')).href;
    } catch {
      // tsx is not installed there; the next location may have it.
    }
  }
  throw new Error(`${module} is TypeScript, which a separate process can load only with tsx: npm install tsx`);
}
