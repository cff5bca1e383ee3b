import { type CollError, ValueError } from '@coll/core';
import type { ReplicaContext } from '@coll/strategy';
import { type Exchange, exchangeSync, type GradientOptions, metered, type SyncReducer } from '@coll/strategy/internal';
import { type AgreedList, AgreedLists } from './agreed-lists.js';
import { broadcastVariables } from './broadcast-weights.js';
import { clipByGlobalNorm } from './clipped-gradients.js';
import { isOfEmptyPart } from './empty-part.js';
import { checkedFit, type FitCall, type PaddedFit, requireOwnRows } from './fit-call.js';
import { gradientsByVariable, isList, tensorsOf } from './gradient-list.js';
import { meanOverReplicas, type Step } from './gradient-mean.js';
import { memoryOf } from './gradient-memory.js';
import { GradientWindow } from './gradient-window.js';
import type { LearningRate } from './learning-rate.js';
import { OptimizerSettings, stateOf } from './optimizer-state.js';
import { noteDistributedStep, noteTrained } from './plain-optimizers.js';
import { type PresentStep, presentStepOf } from './present-step.js';
import { mixed } from './same-variables.js';
import { type OnDifference, StepGuard } from './step-guard.js';
import {
  isCarried,
  type TensorFlow,
  type TfGradient,
  type TfGradients,
  type TfLossAndGradients,
  type TfModel,
  type TfOptimizer,
  type TfTensor,
  type TfVariable,
  trainableVariables,
  variableNamed,
} from './tensorflow.js';
import { givenSharesOf, requireEvenShares } from './uneven-shares.js';
import type { ModelListener } from './watched-models.js';

/** How a distributed optimizer steps. */
export interface StepOptions extends GradientOptions {
  readonly models: readonly TfModel[];
  readonly samples: (() => number) | undefined;
  readonly onDifference: OnDifference;
  /** How many steps accumulate gradients. Variables change in the last of them. */
  readonly every: number;
  readonly clipByGlobalNorm: number | undefined;
  readonly learningRate: LearningRate | undefined;
  /** Options that must be equal on all replicas, without defaults. */
  readonly compared: object;
}

/** The loss function of a call of `minimize` that is under way. */
interface Minimizing {
  readonly f: () => TfTensor;
  readonly variables: TfVariable[] | undefined;
}

/** The steps of a distributed optimizer on one replica. */
export class DistributedStep implements ModelListener {
  readonly #tf: TensorFlow;
  readonly #optimizer: TfOptimizer;
  readonly #context: ReplicaContext;
  readonly #options: StepOptions;
  readonly #reducer: SyncReducer;
  readonly #averaging: GradientOptions;
  readonly #agreeing: GradientOptions;
  readonly #settings: OptimizerSettings;
  readonly #lists: AgreedLists;
  readonly #guard: StepGuard;
  readonly #models: Set<TfModel>;
  readonly #present: PresentStep;
  /** Ids of the variables that have been set to the values of replica 0. */
  readonly #started = new Set<number>();
  /** Gradients of the steps since the variables of a list have changed. */
  readonly #windows = new Map<AgreedList, GradientWindow>();
  #minimizing: Minimizing | undefined;
  /** Samples of the batch of a step in `fit`. */
  #samplesOfFit: number | undefined;
  /** Samples of the present step; undefined if not known. */
  #samples: number | undefined;

  constructor(tf: TensorFlow, optimizer: TfOptimizer, context: ReplicaContext, options: StepOptions) {
    this.#tf = tf;
    this.#optimizer = optimizer;
    this.#context = context;
    this.#options = options;
    const { bytesPerPack, timeoutSeconds, onAllReduce } = options;
    this.#averaging = metered({ bytesPerPack, timeoutSeconds, onAllReduce }, context, () => this.#samples);
    this.#agreeing = { timeoutSeconds };
    this.#settings = new OptimizerSettings(optimizer, options.compared);
    this.#lists = new AgreedLists(context);
    this.#reducer = explaining(context, this.#lists);
    const { onDifference } = options;
    this.#guard = new StepGuard(context, { tf, optimizer, settings: this.#settings, onDifference });
    this.#models = new Set(options.models);
    this.#present = presentStepOf(context);
  }

  addModel(model: TfModel): void {
    this.#models.add(model);
  }

  checkFit(call: FitCall): PaddedFit | undefined {
    return checkedFit(call, this.#context, (steps) => this.#exchange(steps));
  }

  ownRowsOf(rows: number): number {
    const { areUneven } = givenSharesOf(this.#context);
    const own = this.#present.logs?.size ?? (areUneven ? this.#options.samples?.() : undefined);
    if (own === undefined) requireEvenShares(this.#context);
    else requireOwnRows(own, rows);
    return own ?? rows;
  }

  withSamples<Result>(samples: number, step: () => Result): Result {
    this.#samplesOfFit = samples;
    try {
      return step();
    } finally {
      this.#samplesOfFit = undefined;
    }
  }

  stepWithoutSamples(variables: TfVariable[]): void {
    this.withSamples(0, () => this.applyGradients(variables.map(({ name }) => ({ name, tensor: undefined }))));
  }

  /** Records that `setWeights` of the optimizer was called. */
  noteLoad(): void {
    this.#settings.noteLoad();
  }

  /**
   * Calls `minimize` of the optimizer, which must call the methods below.
   * @param minimize called with the loss function
   */
  minimize<Result>(f: () => TfTensor, variables: TfVariable[] | undefined, minimize: () => Result): Result {
    this.#minimizing = { f, variables };
    try {
      return minimize();
    } catch (error) {
      // Nobody ends this step, whose size would count in the steps of another loop.
      this.#present.logs = undefined;
      throw error;
    } finally {
      this.#minimizing = undefined;
    }
  }

  computeGradients(f: () => TfTensor, variables?: TfVariable[]): TfLossAndGradients {
    this.#samples = this.#samplesOfStep();
    if (variables) this.#begin(variables);
    const pass = () => this.#pass(f, variables);
    const result = pass();
    if (variables || this.#lists.open || !this.#learn(result.grads)) return result;
    // The variables have now the values of replica 0.
    disposeOf(result);
    return pass();
  }

  applyGradients(gradients: TfGradients): void {
    this.#samples ??= this.#samplesOfStep();
    try {
      if (isList(gradients)) {
        const variables = gradients.map(({ name }) => variableNamed(this.#tf, name));
        const own = gradients.map(({ tensor }) => tensor);
        this.#apply(this.#begin(variables), own, [...variables.keys()]);
      } else this.#applyNamed(gradients);
    } finally {
      this.#samples = undefined;
    }
  }

  /**
   * Samples of the batch in `fit`; in other steps what the program gives, if it does.
   * @throws ValueError if it does not, and shares have unequal numbers of rows
   */
  #samplesOfStep(): number | undefined {
    const samples = this.#samplesOfFit ?? this.#options.samples?.() ?? this.#present.logs?.size;
    if (samples === undefined) requireEvenShares(this.#context);
    return samples;
  }

  /** A step with gradients by name, which may be those of variables that had none before. */
  #applyNamed(gradients: Readonly<Record<string, TfGradient>>): void {
    if (!this.#lists.open) this.#learn(gradients);
    const list = this.#lists.open as AgreedList;
    const ofList = (named: ReadonlyMap<TfVariable, TfTensor>) => list.variables.map((variable) => named.get(variable));
    const named = gradientsByVariable(this.#tf, gradients);
    const known = ofList(named);
    const newcomers = named.size - known.filter((gradient) => gradient).length;
    if (this.#apply(list, known, undefined, newcomers)) return;
    if (this.#options.every > 1) throw lateVariable(this.#options.every);
    this.#learn(gradients);
    // A gradient may hold a mean by now, and those of newcomers belong to unequal weights.
    const again = this.#minimizing && this.#pass(this.#minimizing.f, undefined);
    this.#apply(list, ofList(again ? gradientsByVariable(this.#tf, again.grads) : named));
    if (again) disposeOf(again);
  }

  /**
   * Averages gradients and applies the means, in the last step of a window. Returns whether it did,
   * or was not to: not if a replica has newcomers.
   * @param positions those of the variables to pass to the optimizer, which identifies its slots by
   * position. Default: those of all variables that ever had a gradient
   */
  #apply(
    list: AgreedList,
    own: readonly TfGradient[],
    positions: readonly number[] = list.known,
    newcomers = 0,
  ): boolean {
    const { variables } = list;
    const { every, clipByGlobalNorm: limit } = this.#options;
    const gradients = memoryOf(this.#tf, variables, own, every === 1 && this.#minimizing !== undefined);
    const present = { list, gradients, samples: this.#samples, newcomers };
    const step = every === 1 ? present : this.#windowWith(present);
    if (!step) return true;
    const averaged = this.#exchange(meanOverReplicas(step, this.#guard), this.#averaging);
    if (averaged === 'newcomers') return false;
    noteDistributedStep(this.#context);
    if (limit !== undefined) clipByGlobalNorm(averaged, limit);
    const means = tensorsOf(this.#tf, variables, averaged);
    const apply = () =>
      this.#optimizer.applyGradients(
        positions.map((index) => ({ name: (variables[index] as TfVariable).name, tensor: means[index] })),
      );
    try {
      if (this.#options.learningRate) this.#options.learningRate.during(apply);
      else apply();
    } finally {
      means.forEach((mean, index) => {
        if (mean !== own[index]) mean?.dispose();
      });
    }
    return true;
  }

  /** Adds a step to the window of its list. Returns all steps of the window as one, if it is complete. */
  #windowWith({ list, gradients, samples, newcomers = 0 }: Step): Step | undefined {
    const window = this.#windows.get(list) ?? new GradientWindow();
    this.#windows.set(list, window);
    window.add(gradients, samples ?? 1, newcomers);
    this.#present.pendingSteps = window.steps % this.#options.every;
    if (window.steps < this.#options.every) return undefined;
    this.#windows.delete(list);
    // The meter counts the samples of the whole window.
    if (samples !== undefined) this.#samples = window.samples;
    const means = window.means(list.variables.length);
    return { list, gradients: means, samples: window.samples, newcomers: window.newcomers };
  }

  /** The samples of a window of steps such as the present one; undefined if not known. */
  get #samplesOfWindow(): number | undefined {
    const { every } = this.#options;
    return every === 1 ? this.#samples : every * (this.#samples ?? 1);
  }

  /**
   * Computes loss and gradients. For an empty part of a batch, the loss is zero and there are no
   * gradients.
   */
  #pass(f: () => TfTensor, variables: TfVariable[] | undefined): TfLossAndGradients {
    if (this.#samples === 0) return this.#nothing();
    let isEmpty = false;
    const result = this.#optimizer.computeGradients(() => {
      const loss = f();
      isEmpty = isOfEmptyPart(this.#tf);
      return loss;
    }, variables) as TfLossAndGradients;
    if (!isEmpty) return result;
    disposeOf(result);
    this.#samples = 0;
    return this.#nothing();
  }

  #nothing(): TfLossAndGradients {
    return { value: this.#tf.tensor(new Float32Array(1), [], 'float32'), grads: {} };
  }

  /**
   * Agrees on the list of these variables, and sets those that have not been started to the values
   * of replica 0.
   */
  #begin(variables: readonly TfVariable[]): AgreedList {
    let isNew = false;
    const frozen = () => {
      isNew = true;
      return this.#frozenWith(variables);
    };
    const list = this.#exchange(this.#lists.given(variables, this.#samplesOfWindow, frozen));
    if (isNew) this.#start([...variables, ...this.#frozenWith(variables)]);
    return list;
  }

  /**
   * Adds the variables that have a gradient on any replica to the open list, and sets them to the
   * values of replica 0. Returns whether that changed any.
   */
  #learn(gradients: Readonly<Record<string, TfGradient>>): boolean {
    const withGradient = new Set(gradientsByVariable(this.#tf, gradients).keys());
    const ofOptimizer = new Set(stateOf(this.#optimizer).map(({ variable }) => variable));
    const candidates = new Set([...trainableVariables(this.#tf), ...withGradient]);
    const added = this.#exchange(
      this.#lists.learn(
        [...candidates].filter((variable) => !ofOptimizer.has(variable)),
        withGradient,
        this.#samplesOfWindow,
      ),
    );
    const frozen = this.#frozenWith(added);
    this.#exchange(this.#lists.compare(frozen, undefined));
    return this.#start([...added, ...frozen]);
  }

  /** Sets variables to the values of replica 0, once. Returns whether there were any. */
  #start(variables: readonly TfVariable[]): boolean {
    const added = variables.filter(({ id }) => !this.#started.has(id));
    const { timeoutSeconds } = this.#options;
    broadcastVariables(this.#tf, added, this.#context, { root: 0, timeoutSeconds });
    for (const { id } of added) this.#started.add(id);
    noteTrained(added);
    return added.length > 0;
  }

  /** Weights of models that train some of these variables, but not these weights. */
  #frozenWith(variables: readonly TfVariable[]): TfVariable[] {
    const trained = new Set(variables);
    const weights = [...this.#models].map((model) => model.weights.map((weight) => weight.read() as TfVariable));
    const all = weights.filter((ofModel) => ofModel.some((weight) => trained.has(weight))).flat();
    return [...new Set(all)].filter((weight) => !trained.has(weight) && isCarried(weight.dtype));
  }

  #exchange<Result>(steps: Exchange<Result>, options: GradientOptions = this.#agreeing): Result {
    return exchangeSync(steps, this.#reducer, options);
  }
}

/** All-reduces whose errors say so if steps of several trainings may have met. */
function explaining(context: ReplicaContext, lists: AgreedLists): SyncReducer {
  const allReduceSync = (...call: Parameters<ReplicaContext['allReduceSync']>) => {
    try {
      return context.allReduceSync(...call);
    } catch (error) {
      const { code, message, rank } = error as Partial<CollError>;
      if (code !== 'ERR_COLL_MISMATCH' || !lists.hasOthers) throw error;
      throw mixed(message as string, rank, error);
    }
  };
  return { allReduceSync } as SyncReducer;
}

/** The error, on all replicas, for a variable whose gradients of earlier steps are not known. */
function lateVariable(every: number): ValueError {
  const message = `with every: ${every}, all variables must have a gradient in the first step on some replica, or be passed to minimize as a list; a later step had a gradient for another one`;
  return new ValueError('ERR_COLL_VALUE', `distributedOptimizer: ${message}`);
}

function disposeOf({ value, grads }: TfLossAndGradients): void {
  value.dispose();
  for (const gradient of Object.values(grads)) gradient?.dispose();
}
