import {
  type CallerRequest,
  CollError,
  type Collective,
  type Group,
  type ProcessGroup,
  type RunOptions,
  RuntimeError,
  ValueError,
} from '@coll/core';
import {
  bytesText,
  isLogged,
  type LinkMeasurement,
  log,
  SlowCallLog,
  setLinkMeasurement,
  speedsText,
} from '@coll/core/internal';
import { abortedError, nameOf } from '@coll/core/plugin';
import type { Algorithm } from '@coll/core/schedule';
import { directAlgorithm } from '@coll/direct';
import { ringAlgorithm } from '@coll/ring';
import { type AlgorithmChoice, AlgorithmChoices } from './algorithm-choices.js';
import { binaryTreeAlgorithm } from './binary-tree-algorithm.js';
import type { LinkModel } from './link-model.js';
import { evenRanksPerHost, type Probe, type ProbeCall, probe } from './link-probe.js';
import { recursiveHalvingDoublingAlgorithm } from './recursive-halving-doubling-algorithm.js';
import { twoLevelAlgorithms } from './two-level-algorithms.js';

/** The candidate algorithms. If several are equally fast, the first one is chosen. */
const candidates: readonly Algorithm[] = [
  directAlgorithm(),
  recursiveHalvingDoublingAlgorithm(),
  ringAlgorithm(),
  binaryTreeAlgorithm(),
];

type Call = (choices: AlgorithmChoices, options: RunOptions) => Promise<void>;

/**
 * The algorithm choices of a group. The group's links are measured once, at the first collective
 * that needs a choice.
 */
export class LinkTuning {
  /** The candidate algorithms that the group can execute, the same on all ranks. */
  readonly algorithms: readonly Algorithm[];
  /** Those that are executed to measure the links. */
  readonly #measured: readonly Algorithm[];
  readonly #group: ProcessGroup;
  readonly #rank: Group;
  #choices: AlgorithmChoices | undefined;
  /** Reports calls that block and take far longer than usual. Groups report the others themselves. */
  readonly slowCalls: SlowCallLog;
  /** The measurement under way. Calls that share a turn begin together, and wait for one measurement. */
  #measuring: Promise<AlgorithmChoices> | undefined;

  constructor(group: ProcessGroup) {
    this.#group = group;
    const { rank, size, hosts } = group;
    this.slowCalls = new SlowCallLog(rank);
    const flat = candidates.filter(({ refuses }) => !refuses?.({ kind: 'all-reduce', op: 'sum' }, size));
    const twoLevels = twoLevelAlgorithms(size, evenRanksPerHost(hosts));
    this.algorithms = [...flat, ...twoLevels];
    // Only with two levels do the links within hosts have rounds of their own, whose times show how
    // fast these links are.
    this.#measured = [...flat, ...twoLevels.slice(0, 1)];
    this.#rank = group.communicator(directAlgorithm()).group;
  }

  /** The choices among the algorithms; undefined until the links have been measured. */
  get choices(): AlgorithmChoices | undefined {
    return this.#choices;
  }

  /** The algorithms chosen so far, with predicted and measured times. */
  get explained(): readonly AlgorithmChoice[] {
    return this.#choices?.explained ?? [];
  }

  /**
   * Begins a call. If the links have not been measured, the call measures them first, with its own
   * options and name.
   */
  begin(call: Call, options: RunOptions = {}, collective?: Collective): Promise<void> {
    return this.#choices ? call(this.#choices, options) : this.#beginMeasured(call, options, collective);
  }

  /**
   * The chosen algorithms, for a call that blocks the thread.
   * @throws RuntimeError while asynchronous calls wait for the measurement
   */
  beginSync(options: RunOptions = {}, collective?: Collective): AlgorithmChoices {
    if (!this.#choices && (this.#measuring || (this.#rank.order.isHeld && !options.turn))) {
      const message =
        'asynchronous collectives are still waiting for the measurement of the links; await those collectives first';
      throw new RuntimeError('ERR_COLL_BUSY', message, {
        operation: (options.request?.collective ?? collective)?.kind,
      });
    }
    this.#choices ??= this.#measureSync(options, collective);
    return this.#choices;
  }

  /**
   * Measures the links now. All members must call this method at the same point of their sequence
   * of calls.
   */
  measure(options?: RunOptions): Promise<void> {
    return this.begin(async () => {}, options);
  }

  /**
   * Begins a call after all earlier calls have begun. If no earlier call has measured the links,
   * measures them first; later calls wait. If this fails, the group fails, because other members
   * wait for the call.
   */
  async #beginMeasured(call: Call, options: RunOptions, collective?: Collective): Promise<void> {
    const own = options.turn ? undefined : this.#rank.order.take();
    const inTurn = { ...options, turn: options.turn ?? own };
    const { signal } = options;
    let begun: Promise<void>;
    try {
      if (own?.begun) await own.begun;
      this.#choices ??= await this.#measureOnce(inTurn, collective);
      if (signal?.aborted)
        throw abortedError('while it waited', signal, { operation: nameOf(collective ?? measuring.collective) });
      begun = call(this.#choices, inTurn);
    } catch (error) {
      if (error instanceof CollError && !(error instanceof ValueError)) this.#rank.fail(error);
      throw error;
    } finally {
      own?.end();
    }
    return begun;
  }

  #measureOnce(options: RunOptions, collective?: Collective): Promise<AlgorithmChoices> {
    this.#measuring ??= this.#measure(options, collective).finally(() => {
      this.#measuring = undefined;
    });
    return this.#measuring;
  }

  async #measure(options: RunOptions, collective?: Collective): Promise<AlgorithmChoices> {
    const { probe, close } = this.#open();
    try {
      let next = probe.next();
      while (!next.done) {
        const begin = performance.now();
        await next.value.communicator.run(...argumentsOf(next.value, options, collective));
        next = probe.next((performance.now() - begin) / 1000);
      }
      return this.#choicesBy(next.value);
    } finally {
      await close();
    }
  }

  #measureSync(options: RunOptions, collective?: Collective): AlgorithmChoices {
    const { probe, close } = this.#open();
    try {
      let next = probe.next();
      while (!next.done) {
        const begin = performance.now();
        next.value.communicator.runSync(...argumentsOf(next.value, options, collective));
        next = probe.next((performance.now() - begin) / 1000);
      }
      return this.#choicesBy(next.value);
    } finally {
      void close();
    }
  }

  #choicesBy(model: LinkModel): AlgorithmChoices {
    const { size, hosts } = this.#group;
    const choices = new AlgorithmChoices(this.algorithms, size, model, new Set(hosts).size > 1);
    const speeds = speedsOf(model);
    setLinkMeasurement(this.#group, { speeds, secondsInCalls: () => secondsIn(choices.explained) });
    logMeasurement(this.#group, speeds, choices);
    return choices;
  }

  #open(): { readonly probe: Probe; close(): Promise<unknown> } {
    const communicators = this.#measured.map((algorithm) => this.#group.communicator(algorithm));
    return {
      probe: probe(this.#group, this.#measured, communicators),
      close: () => Promise.all(communicators.map((communicator) => communicator.close())),
    };
  }
}

/**
 * The request that an error message shows if some members measure links while others make another
 * call.
 */
const measuring: CallerRequest = {
  collective: { kind: 'all-reduce', op: 'sum' },
  dtype: 'float32',
  length: 0,
  purpose: 'measure',
};

const tunings = new WeakMap<ProcessGroup, LinkTuning>();

/** Returns the tuning of a group, which all communicators of the group share. */
export function tuningOf(group: ProcessGroup): LinkTuning {
  const known = tunings.get(group) ?? new LinkTuning(group);
  tunings.set(group, known);
  return known;
}

function argumentsOf(
  { collective, input, output }: ProbeCall,
  { timeoutSeconds, signal, request, turn }: RunOptions,
  asked?: Collective,
) {
  const options: RunOptions = {
    timeoutSeconds: timeoutSeconds ?? null,
    request: { ...measuring, measuredFor: request?.collective ?? asked, ranks: request?.ranks },
    turn,
    ...(signal ? { signal } : {}),
  };
  return [collective, [input], [output], options] as const;
}

/** A message costs its sender and its receiver some work, in addition to the time on the link. */
function speedsOf({ across, within }: LinkModel): LinkMeasurement['speeds'] {
  const speedOf = ({ alpha, beta, overhead }: LinkModel['across']) => ({
    latencySeconds: alpha + 2 * overhead,
    bytesPerSecond: 1 / beta,
  });
  return { across: speedOf(across), within: within && speedOf(within) };
}

/** Estimated from the calls that were measured. */
function secondsIn(choices: readonly AlgorithmChoice[]): number {
  return choices.reduce((sum, { calls, measuredSeconds = 0 }) => sum + calls * measuredSeconds, 0);
}

/** All ranks have the same model; only rank 0 logs it at level info. */
function logMeasurement({ rank }: ProcessGroup, speeds: LinkMeasurement['speeds'], choices: AlgorithmChoices): void {
  const level = rank === 0 ? 'info' : 'debug';
  // Looking up the algorithms takes a while in large groups.
  if (!isLogged(level)) return;
  const bySize = choices.bySize({ kind: 'all-reduce', op: 'sum' });
  const algorithms = bySize.map(({ algorithm, upToBytes }) =>
    upToBytes === undefined ? algorithm : `${algorithm} up to ${bytesText(upToBytes)}`,
  );
  const message = `links measured: ${speedsText(speeds)}; all-reduce by ${algorithms.join(', then ')}`;
  const { across, within } = speeds;
  const data = {
    across: { ...across },
    within: within && { ...within },
    allReduceBySize: bySize.map((range) => ({ ...range })),
  };
  log(level, message, { rank, event: 'links measured', data });
}
