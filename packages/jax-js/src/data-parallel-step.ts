import { RuntimeError } from '@coll/core';
import type { ReplicaContext } from '@coll/strategy';
import {
  type AsyncReducer,
  type Exchange,
  exchange,
  exchangeSync,
  type GradientOptions,
  hashOfBits,
  metered,
  type ReplicaInfo,
  stepsBetweenFingerprints,
  weightedSum,
} from '@coll/strategy/internal';
import { blockUntilReady } from '@jax-js/jax';
import { carried, type Elements, invalid, isJaxArray, zerosOf } from './arrays.js';
import { elementsOf } from './collectives.js';
import { areSameForms, requireSameTrees } from './same-trees.js';
import { type Samples, samplesOf } from './samples.js';
import { guardWidth, type OnDifference, type Print, StepGuard } from './step-guard.js';
import { type StepResult, stepResultOf, withMeans } from './step-result.js';
import { leavesOf } from './trees.js';

const operation = 'dataParallel';

/** The context of a replica, as far as steps need it. */
export type StepContext = ReplicaInfo & AsyncReducer & Pick<ReplicaContext, 'allReduceSync' | 'canBlock'>;

export type AnyFunction = (...args: readonly unknown[]) => unknown;

/** Options of `dataParallel`, some without their defaults. */
export interface StepOptions extends GradientOptions {
  readonly samples?: Samples;
  readonly aux?: 'own' | 'mean' | undefined;
  readonly onDifference?: OnDifference | undefined;
}

/** What replicas have agreed on in their first step. */
interface Plan {
  /** A result of this replica, whose forms are those of all others. */
  readonly result: StepResult;
  /** Has weight 1, so equal parts need no extra work. */
  readonly usualSamples: number;
}

/** What this replica gives to one step. */
interface OwnStep {
  /** Undefined without samples. */
  readonly result: StepResult | undefined;
  readonly elements: readonly Elements[];
  readonly samples: number;
  readonly prints: readonly Print[] | undefined;
}

/** Numbers of the step itself. */
const places = { weight: 0, hasChanged: 1, guard: 2 } as const;

// Kept as long as the context of the replica.
const created = new WeakMap<ReplicaInfo, number>();
const underWay = new WeakSet<ReplicaInfo>();

/** The steps of one data-parallel function on one replica. */
export class DataParallelStep {
  readonly #fn: AnyFunction;
  readonly #context: StepContext;
  readonly #options: StepOptions;
  readonly #averaging: GradientOptions;
  readonly #guard: StepGuard;
  readonly #numbers = new Float32Array(places.guard + guardWidth);
  #plan: Plan | undefined;
  #samples = 0;

  constructor(fn: AnyFunction, context: StepContext, options: StepOptions) {
    this.#fn = fn;
    this.#context = context;
    this.#options = options;
    const { bytesPerPack, timeoutSeconds, onAllReduce, onDifference = 'throw' } = options;
    this.#averaging = metered({ bytesPerPack, timeoutSeconds, onAllReduce }, context, () => this.#samples);
    const number = created.get(context) ?? 0;
    created.set(context, number + 1);
    this.#guard = new StepGuard(context, number, onDifference);
  }

  /** Loss and gradients of all replicas. */
  async call(args: readonly unknown[]): Promise<unknown> {
    if (underWay.has(this.#context))
      throw new RuntimeError(
        'ERR_COLL_BUSY',
        `${operation}: a step of this replica is still under way; await it before you call the next one`,
        { operation },
      );
    underWay.add(this.#context);
    try {
      this.#samples = samplesOf(args, this.#options.samples, operation);
      return await (this.#context.numReplicasInSync === 1 ? this.#alone(args) : this.#together(args));
    } finally {
      underWay.delete(this.#context);
    }
  }

  async #alone(args: readonly unknown[]): Promise<unknown> {
    const result = this.#fn(...args);
    const { whole } = stepResultOf(result, this.#options.aux ?? 'own', operation);
    await blockUntilReady(whole as never);
    this.#averaging.onAllReduce?.(0);
    return result;
  }

  async #together(args: readonly unknown[]): Promise<unknown> {
    const samples = this.#samples;
    const reading = this.#printsOf(args[0]);
    const result = samples > 0 ? this.#resultOf(args) : disposeOf(args);
    const prints = await reading;
    if (!this.#plan) await exchange(this.#agree(result, samples), this.#context, this.#agreeing);
    const elements = result ? await elementsOf(result.averaged) : [];
    const own = { result, elements, samples, prints };
    // Blocking made the training example up to a tenth faster than waking up for the result.
    const means = this.#context.canBlock
      ? exchangeSync(this.#means(own), this.#context, this.#averaging)
      : await exchange(this.#means(own), this.#context, this.#averaging);
    return withMeans(result ?? (this.#plan as Plan).result, means, result === undefined);
  }

  get #agreeing(): GradientOptions {
    return { timeoutSeconds: this.#options.timeoutSeconds };
  }

  #resultOf(args: readonly unknown[]): StepResult {
    return stepResultOf(this.#fn(...args), this.#options.aux ?? 'own', operation);
  }

  /** Agrees on what is averaged. */
  *#agree(result: StepResult | undefined, samples: number): Exchange<void> {
    const forms = (result ?? this.#plan?.result)?.averaged ?? [];
    const { fewest, most } = yield* requireSameTrees(operation, forms, this.#context, samples);
    if (!result || fewest === 0) throw noSamples();
    this.#plan = { result, usualSamples: this.#plan?.usualSamples ?? most };
  }

  /** The means of the arrays that are averaged, in their order. */
  *#means({ result, elements, samples, prints }: OwnStep): Exchange<readonly Elements[]> {
    const { result: known, usualSamples } = this.#plan as Plan;
    const hasChanged = result !== undefined && !areSameForms(result.averaged, known.averaged);
    // A replica whose gradients have changed their forms must still take part, to say so.
    const sent = result && !hasChanged ? elements : known.averaged.map(zerosOf);
    const weight = samples / usualSamples;
    const numbers = this.#numbers.fill(0);
    numbers[places.weight] = weight;
    numbers[places.hasChanged] = hasChanged ? 1 : 0;
    const values = known.averaged.map(({ path }, index) => ({ path, elements: sent[index] as Elements }));
    this.#guard.write(numbers, places.guard, { values, prints });
    if (weight !== 1) for (const each of sent) multiply(each, weight);
    const memory = [...sent.map((each, index) => carried(each, known.averaged[index]?.dtype ?? 'float32')), numbers];
    yield { op: 'mean', values: memory, into: memory };

    if ((numbers[places.hasChanged] as number) > 0) {
      yield* this.#agree(result, samples);
      return yield* this.#means({ result, elements, samples, prints });
    }
    yield* this.#guard.check(numbers, places.guard);
    const meanWeight = numbers[places.weight] as number;
    if (meanWeight === 0) throw noSamples();
    if (meanWeight !== 1) for (const each of sent) multiply(each, 1 / meanWeight);
    return sent;
  }

  /** Sums of the parameters, in steps that compare them. Reads them before they are consumed. */
  async #printsOf(params: unknown): Promise<readonly Print[] | undefined> {
    const leaves = leavesOf(params, 'params', operation);
    const weights = leaves.reduce((sum, { value }) => sum + (isJaxArray(value) ? value.size : 1), 0);
    if ((this.#guard.step - 1) % stepsBetweenFingerprints(weights) !== 0) return undefined;
    return await Promise.all(
      leaves.map(async ({ path, value }) => {
        return { path, sum: isJaxArray(value) ? sumOf(await value.ref.data()) : Number(value) };
      }),
    );
  }
}

function sumOf(elements: Elements): number {
  return elements instanceof Float32Array ? weightedSum(elements) : hashOfBits(elements);
}

function multiply(elements: Elements, factor: number): void {
  for (let at = 0; at < elements.length; at++) elements[at] = (elements[at] as number) * factor;
}

/** Consumes the arrays of a call that computes nothing. */
function disposeOf(args: readonly unknown[]): undefined {
  for (const { value } of leavesOf(args, '', operation)) if (isJaxArray(value)) value.dispose();
}

function noSamples() {
  return invalid(
    operation,
    'all replicas must have samples in the first step, and one of them in each other step; use batches with at least one sample per replica',
  );
}
