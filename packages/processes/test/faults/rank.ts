import {
  type Algorithm,
  CollError,
  type Communicator,
  hierarchical,
  type Member,
  type RunOptions,
  ValueError,
} from '@coll/core';
import { ReferenceCommunicator } from '@coll/core/internal';
import { directAlgorithm } from '@coll/direct';
import { openRecord } from '@coll/native/record';
import { type OpenedProcessGroup, openProcessGroup } from '@coll/processes';
import { type Store, subStore, TcpStore } from '@coll/rendezvous';
import { ringAlgorithm } from '@coll/ring';
import { keepStore, openWorkerGroup, type WorkerConfig } from '../../../strategy/src/workers/open-worker-group.ts';
import {
  buffersOf,
  type Call,
  callAt,
  lastCall,
  messageProblemOf,
  messagesOf,
  oddCall,
  ownMemory,
  problemOf,
} from './calls.ts';
import { type FromRank, nowMillis, type Report, type Seen, type Task, type ToRank } from './messages.ts';
import { Random } from './random.ts';
import { reroutedStore } from './rerouted-store.ts';
import { collectGarbage, resourcesOfThisProcess } from './resources.ts';
import { endsProcess, isFromOutside } from './scenario.ts';
import { stepOf, watchedStore } from './watched-store.ts';

/** The entry of a rank's process: it takes part in one scenario after the other, and tells what it saw. */

const awaitedRoutes = new Map<number, (port: number) => void>();

process.on('message', (message: ToRank) => {
  if (message.type === 'route') awaitedRoutes.get(message.to)?.(message.port);
  else void take(message).then(say);
});
process.once('disconnect', () => process.exit());
// The recorder has a thread for as long as the process lives.
openRecord();
say({ type: 'started' });

function say(message: FromRank): void {
  process.send?.(message);
}

async function take(task: Task): Promise<Report> {
  await collectGarbage();
  const before = resourcesOfThisProcess();
  const part = new Part(task);
  await part.run();
  const closing = nowMillis();
  await part.close();
  const closeMillis = nowMillis() - closing;
  await collectGarbage();
  return { type: 'report', ...part.found, closeMillis, before, after: await settledResources(before) };
}

/** A socket that was closed is gone some turns later. */
async function settledResources(before: ReturnType<typeof resourcesOfThisProcess>) {
  for (let look = 0; ; look++) {
    const now = resourcesOfThisProcess();
    if (look === 500 || Object.entries(now).every(([kind, count]) => count <= before[kind as keyof typeof now]))
      return now;
    await new Promise((resolve) => setTimeout(resolve, 20));
    await collectGarbage();
  }
}

// Longer than anything here takes: whoever runs into it has hung.
const hangSeconds = 60;
const absentSeconds = 1;
const lateSeconds = 0.5;
const mostCalls = 100_000;
// More than the system keeps for a connection.
const lastMessageLength = 300_000;
const keeperScope = 'workers';

/** One rank's part in a scenario. */
class Part {
  readonly #task: Task;
  readonly #random: Random;
  #group: OpenedProcessGroup | undefined;
  readonly #halves = new Set<Member>();
  #communicators: Record<Call['algorithm'], Communicator> | undefined;
  #found: Omit<Report, 'type' | 'closeMillis' | 'before' | 'after'> = {
    calls: 0,
    hasOpened: false,
    error: undefined,
    later: undefined,
    wrongResult: undefined,
    faultAtMillis: undefined,
  };

  constructor(task: Task) {
    this.#task = task;
    this.#random = new Random(task.scenario.seed * 31 + task.rank);
  }

  get found() {
    return this.#found;
  }

  /** Opens the group, and calls until something goes wrong, or all calls are made. */
  async run(): Promise<void> {
    const { scenario } = this.#task;
    try {
      this.#group = await this.#open();
      const { replicas } = scenario;
      this.#communicators = {
        direct: communicatorOf(this.#group, directAlgorithm(), replicas),
        ring: communicatorOf(this.#group, ringAlgorithm(), replicas),
      };
      this.#note({ hasOpened: true });
      say({ type: 'begun' });
      const isAnyTime = isFromOutside(scenario.fault) || ['opening', 'keeper'].includes(scenario.fault);
      const count = isAnyTime ? mostCalls : scenario.at + lastCall + 1;
      for (let index = 0; index < count && this.#found.wrongResult === undefined; index++) await this.#callAt(index);
    } catch (error) {
      this.#note({ error: seen(error) });
      if (this.#communicators) this.#note({ later: await this.#callAgain() });
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#halves].map((half) => half.close()));
    this.#halves.clear();
    await this.#group?.close();
    this.#group = undefined;
    this.#communicators = undefined;
  }

  async #open(): Promise<OpenedProcessGroup> {
    const { scenario, rank, generation, store: member } = this.#task;
    if (this.#isAt('absent', 0)) throw new Error('this rank stays away');
    if (scenario.fault === 'keeper') {
      // As a strategy does.
      const config = seatOf(this.#task);
      if (rank !== scenario.victim) return (await openWorkerGroup(config)) as OpenedProcessGroup;
      await keepStore(config);
    }
    const { size, transport, streams, encrypt, heartbeatSeconds } = scenario;
    await using store = await TcpStore.connect(member);
    if (scenario.fault === 'absent') this.#fault(absentSeconds);
    return await openProcessGroup({
      store: this.#storeOf(store),
      job: member.job,
      jobKey: member.jobKey,
      rank,
      size,
      generation,
      transport,
      streams,
      encrypt,
      heartbeatSeconds,
      timeoutSeconds: scenario.fault === 'absent' ? absentSeconds : hangSeconds,
    });
  }

  #storeOf(store: Store): Store {
    const { scenario, rank, generation, store: member } = this.#task;
    const { fault, victim, size } = scenario;
    if (fault === 'keeper') return this.#watched(subStore(store, keeperScope));
    if (fault !== 'opening') {
      const { job, jobKey } = member;
      return reroutedStore(store, { rank, size, generation, job, jobKey }, askForRoute);
    }
    // A double of the network would go on listening for a member that is gone.
    return rank === victim ? this.#watched(store) : store;
  }

  /** Kills this process when it has come to its step. */
  #watched(store: Store): Store {
    const { step, afterMillis } = this.#task.scenario;
    return watchedStore(store, (key) => {
      if (stepOf(key) === step) setTimeout(() => void end(() => process.kill(process.pid, 'SIGKILL')), afterMillis);
    });
  }

  async #callAt(index: number): Promise<void> {
    const { scenario } = this.#task;
    const call = callAt(scenario, index);
    if (this.#isAt('exit', index)) await end(() => process.exit(7));
    if (this.#isAt('throw', index)) {
      const error = new Error(`the trouble of seed ${scenario.seed}`);
      this.#fault();
      this.#group?.fail(error);
      throw error;
    }
    if (this.#isAt('leave', index)) {
      this.#fault();
      await this.#group?.close();
    }
    if (scenario.fault === 'last' && index === scenario.at) await this.#sendLast(call);
    if (call.isRefusedFirst) await this.#makeRefused();
    if (this.#isAt('refusal', index)) {
      await this.#makeRefused();
      this.#fault();
    }
    if (this.#isAt('late', index) || this.#isAt('abort', index)) {
      while (this.#group?.failure() === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const isOdd = ['kind', 'op', 'dtype', 'length'].some((fault) => this.#isAt(fault, index));
    const isSwapped = this.#isAt('order', index) || this.#isAt('order', index - 1);
    if (isOdd || this.#isAt('order', index)) this.#fault();
    const made = isOdd ? oddCall(scenario, call) : isSwapped ? this.#swapped(index) : call;
    await this.#make(made, this.#optionsAt(index));
    this.#note({ calls: this.#found.calls + 1 });
  }

  #swapped(index: number): Call {
    const { scenario } = this.#task;
    return callAt(scenario, index === scenario.at ? index + 1 : index - 1);
  }

  #optionsAt(index: number): RunOptions {
    const { scenario, rank } = this.#task;
    const isHere = index === scenario.at && rank !== scenario.victim;
    if (scenario.fault === 'late' && isHere) {
      this.#fault(lateSeconds);
      return { timeoutSeconds: lateSeconds };
    }
    if (scenario.fault === 'abort' && isHere && rank === scenario.other) {
      const controller = new AbortController();
      setTimeout(() => {
        this.#fault();
        controller.abort(new Error('enough'));
      }, lateSeconds * 500);
      return { timeoutSeconds: hangSeconds, signal: controller.signal };
    }
    return { timeoutSeconds: hangSeconds };
  }

  async #make(call: Call, options: RunOptions): Promise<void> {
    const { rank, scenario } = this.#task;
    const communicator = this.#communicators?.[call.algorithm] as Communicator;
    if (call.isExchange) return this.#exchange(call, communicator, options);
    if (call.isSplit) return this.#split(options);
    const allocate = call.isAllocated ? communicator.group.allocate.bind(communicator.group) : undefined;
    const { collective } = call;
    const { replicas } = scenario;
    const size = scenario.size * replicas;
    const buffers = Array.from({ length: replicas }, (_, place) => {
      const replica = rank * replicas + place;
      return { replica, ...buffersOf(call, replica, size, allocate ?? ownMemory) };
    });
    const [inputs, outputs] = [buffers.map(({ input }) => input), buffers.map(({ output }) => output)];
    // Each rank waits in its own way; a signal reaches only those who do not block.
    if (options.signal || this.#random.below(2) === 0) await communicator.run(collective, inputs, outputs, options);
    else communicator.runSync(collective, inputs, outputs, options);
    for (const { replica, output } of buffers) {
      const problem = problemOf(call, replica, size, output);
      if (problem !== undefined)
        this.#note({ wrongResult: `call ${call.index}, ${collective.kind} of ${call.dtype}: ${problem}` });
    }
  }

  async #exchange(call: Call, { group }: Communicator, options: RunOptions): Promise<void> {
    const { rank, scenario } = this.#task;
    const { size } = scenario;
    const [next, previous] = [(rank + 1) % size, (rank + size - 1) % size];
    const { sent, received } = messagesOf(call, rank);
    await Promise.all([group.send(rank, next, sent, options), group.receive(rank, previous, received, options)]);
    const problem = messageProblemOf(call, previous, received);
    if (problem !== undefined) this.#note({ wrongResult: `call ${call.index}, message of ${call.dtype}: ${problem}` });
  }

  /** Makes a call in a half of the group: the ranks with even or with odd numbers. */
  async #split(options: RunOptions): Promise<void> {
    const { rank, scenario } = this.#task;
    const half = (await this.#group?.split(rank % 2, rank, options)) as Member;
    this.#halves.add(half);
    const [sum] = await half.allReduce('sum', Int32Array.of(rank + 1), options);
    let expected = 0;
    for (let other = rank % 2; other < scenario.size; other += 2) expected += other + 1;
    if (sum !== expected) this.#note({ wrongResult: `the sum of a half is ${sum}, not ${expected}` });
    await half.close();
    this.#halves.delete(half);
  }

  /** Makes a call that this member refuses, and catches the error. */
  async #makeRefused(): Promise<void> {
    const into = new Float32Array(2);
    const error = await this.#group?.allReduce('sum', new Float32Array(3), { into }).catch((caught) => caught);
    if (!(error instanceof ValueError)) this.#note({ wrongResult: `a call with the wrong memory returned ${error}` });
  }

  /** The victim sends its last message to the other member, and leaves. */
  async #sendLast(call: Call): Promise<void> {
    const { rank, scenario } = this.#task;
    const { victim, other } = scenario;
    const last = { ...call, length: lastMessageLength };
    const { sent, received } = messagesOf(last, victim);
    if (rank === other) {
      try {
        await this.#group?.receive(victim, received, { timeoutSeconds: hangSeconds });
      } catch (error) {
        this.#note({ wrongResult: `the last message of rank ${victim} was lost: ${(error as Error).message}` });
      }
      const problem = messageProblemOf(last, victim, received);
      if (problem !== undefined) this.#note({ wrongResult: `the last message of rank ${victim}: ${problem}` });
    }
    if (rank !== victim) return;
    await this.#group?.send(other, sent, { timeoutSeconds: hangSeconds });
    if (endsProcess(scenario)) await end(() => process.exit(0));
    this.#fault();
    await this.#group?.close();
  }

  async #callAgain(): Promise<Seen | undefined> {
    try {
      await this.#make(callAt(this.#task.scenario, 0), { timeoutSeconds: hangSeconds });
      return undefined;
    } catch (error) {
      return seen(error);
    }
  }

  #isAt(fault: string, index: number): boolean {
    const { scenario, rank } = this.#task;
    return scenario.fault === fault && rank === scenario.victim && (index === scenario.at || fault === 'absent');
  }

  /** Says when it happens: now, or when a time limit is over. */
  #fault(inSeconds = 0): void {
    this.#note({ faultAtMillis: nowMillis() + inSeconds * 1000 });
  }

  #note(found: Partial<Report>): void {
    const { wrongResult = found.wrongResult } = this.#found;
    this.#found = { ...this.#found, ...found, wrongResult };
  }
}

/** The place of a worker whose rank 0 keeps the store. */
function seatOf({ scenario, rank, generation, store }: Task): WorkerConfig {
  const { size, transport, streams, encrypt, heartbeatSeconds } = scenario;
  return {
    storeAddress: { ...store, generation, isOfWorker: true, isHere: rank === 0 },
    rank,
    size,
    transport: { transport, streams, encrypt, heartbeatSeconds },
    startupTimeoutSeconds: hangSeconds,
    scope: keeperScope,
  };
}

function communicatorOf(group: OpenedProcessGroup, algorithm: Algorithm, replicas: number): Communicator {
  const across = group.communicator(algorithm);
  return replicas === 1 ? across : hierarchical([new ReferenceCommunicator({ size: replicas, algorithm })], across);
}

/** Ends this process, once the program knows when. */
function end(now: () => void): Promise<never> {
  return new Promise(() => process.send?.({ type: 'exit', atMillis: nowMillis() } satisfies FromRank, now));
}

function askForRoute(to: number, port: number): Promise<number> {
  return new Promise((resolve) => {
    awaitedRoutes.set(to, resolve);
    say({ type: 'route', to, port });
  });
}

function seen(error: unknown): Seen {
  const atMillis = nowMillis();
  if (!(error instanceof Error)) return { name: typeof error, message: String(error), isOurs: false, atMillis };
  const isOurs = error instanceof CollError;
  const { name, message } = error;
  if (!isOurs) return { name, message: `${error.stack}`, isOurs, atMillis };
  const { code, rank, operation } = error;
  return {
    name,
    message,
    isOurs,
    code,
    ...(rank === undefined ? {} : { rank }),
    ...(operation === undefined ? {} : { operation }),
    atMillis,
  };
}
