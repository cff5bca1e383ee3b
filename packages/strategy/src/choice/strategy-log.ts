import type { World } from '@coll/core';
import {
  bytesText,
  checkedResults,
  countText,
  isReplicaThread,
  log,
  secondsText,
  shareText,
} from '@coll/core/internal';
import type { CallOrder } from '@coll/core/plugin';

/** What a strategy consists of, for its line in the log. */
export interface StrategyFacts {
  /** Replicas of all workers. */
  readonly replicas: number;
  /** Where the replicas of a process run. */
  readonly replicasIn: 'one thread' | 'threads';
  readonly devices: readonly string[];
  /** The cross-device ops that combine values. */
  readonly ops: string;
  /** Deviations from the request, and whether NCCL executes. Default: none */
  readonly notes?: readonly string[] | undefined;
  readonly engine: string;
  readonly simd?: string | undefined;
  /** Cores of this process for each of its replicas. */
  readonly coresPerReplica: number;
  /** Of several workers: their number, their hosts, and how they exchange data. */
  readonly workers?: WorkersFacts | undefined;
}

interface WorkersFacts {
  readonly count: number;
  readonly hosts: readonly string[];
  readonly transport: string;
}

/** What a strategy has done, or one of its replicas. */
export interface StrategyFigures {
  readonly collectives: number;
  readonly bytes: number;
  /** Steps of the training that were measured, and the milliseconds of their all-reduces and of all they did. */
  readonly training?: TrainingTotals | undefined;
}

/** The measured steps of one replica. */
export interface TrainingTotals {
  readonly steps: number;
  readonly millisReducing: number;
  readonly millis: number;
}

// Lines about many devices would hide the rest.
const mostDevices = 8;

/** Logs when a strategy has opened, and when it is closed. Strategies in threads of replicas log at level debug. */
export class StrategyLog {
  readonly #name: string;
  readonly #worker: number | undefined;
  #opened: number | undefined;
  #replicas = 0;

  constructor(name: string, worker?: number) {
    this.#name = name;
    this.#worker = worker;
  }

  /** Only the first call logs a line. */
  open(facts: StrategyFacts): void {
    if (this.#opened !== undefined) return;
    this.#opened = performance.now();
    this.#replicas = facts.replicas;
    const { replicas, replicasIn, devices, ops, engine, simd, coresPerReplica, workers, notes = [] } = facts;
    const across = workers
      ? [
          `${countText(workers.count, 'worker')} on ${countText(new Set(workers.hosts).size, 'host')} over ${workers.transport}`,
        ]
      : [];
    const parts = [
      `${countText(replicas, 'replica')} in ${replicasIn}${workers ? ' per worker' : ''}`,
      ...across,
      devices.length > mostDevices ? `${devices.length} devices` : `devices ${devices.join(', ')}`,
      `ops ${ops}`,
      `engine ${engine}${simd === undefined ? '' : ` with ${simd}`}`,
      `${countText(Number(coresPerReplica.toFixed(2)), 'core')} per replica`,
      ...notes,
    ];
    this.#log('strategy opened', parts, { ...facts, workers: workers && { ...workers } });
  }

  /** Only a strategy that was opened logs a line. `replicas`: the figures of each replica of this process. */
  close(replicas: readonly StrategyFigures[]): void {
    if (this.#opened === undefined) return;
    const seconds = (performance.now() - this.#opened) / 1000;
    this.#opened = undefined;
    const [first] = replicas;
    // Values of one thread may be combined without a group, which would count.
    const counted = first && first.collectives > 0 ? first : undefined;
    const training = replicas.flatMap(({ training }) => (training && training.steps > 0 ? [training] : []));
    const sum = (number: (totals: TrainingTotals) => number) => training.reduce((all, one) => all + number(one), 0);
    const share = training.length > 0 ? sum((one) => one.millisReducing) / sum((one) => one.millis) : undefined;
    const steps = training.length > 0 ? Math.max(...training.map((one) => one.steps)) : undefined;
    const parts = [
      `open for ${secondsText(seconds)}`,
      ...(counted ? [`${countText(counted.collectives, 'collective')} of ${bytesText(counted.bytes)} per member`] : []),
      ...(share === undefined || steps === undefined
        ? []
        : [`${countText(steps, 'measured step')}, ${shareText(share)} of their time waiting and exchange`]),
    ];
    this.#log('strategy closed', parts, {
      replicas: this.#replicas,
      seconds,
      collectives: counted?.collectives,
      bytesPerMember: counted?.bytes,
      steps,
      shareWaitingAndExchange: share,
    });
  }

  #log(event: string, parts: readonly string[], facts: object): void {
    const isFirst = !isReplicaThread() && (this.#worker ?? 0) === 0;
    const data = { strategy: this.#name, ...facts };
    log(isFirst ? 'info' : 'debug', `${event}: ${this.#name}; ${parts.join('; ')}`, {
      worker: this.#worker,
      event,
      data,
    });
  }
}

/** The call orders of the groups that ops have made in a world, with the number of local members of each. */
export class CountedGroups {
  readonly #orders = new Map<CallOrder, number>();
  readonly #checkResults: number;

  /** `checkResults`: after how many collectives the ranks compare results; 0 means never. */
  constructor(checkResults = 0) {
    this.#checkResults = checkResults;
  }

  /** The world, whose groups count from now on. */
  counted<Given extends World>(world: Given): Given {
    const communicator: World['communicator'] = (...args) => {
      const made = world.communicator(...args);
      this.#orders.set(made.group.order, made.localRanks.length);
      return checkedResults(made, this.#checkResults);
    };
    return { ...world, communicator };
  }

  get figures(): StrategyFigures {
    let [collectives, bytes] = [0, 0];
    for (const [order, localMembers] of this.#orders) {
      collectives += order.begun;
      bytes += order.bytes / localMembers;
    }
    return { collectives, bytes };
  }
}
