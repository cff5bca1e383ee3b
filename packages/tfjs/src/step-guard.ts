import { InvalidArgumentError } from '@coll/core';
import { log } from '@coll/core/internal';
import {
  combined,
  type Exchange,
  equalWidth,
  firstNonFinite,
  gatherValues,
  oddReplicas,
  type ReplicaInfo,
  stepsBetweenFingerprints,
  wereEqual,
  writeEqual,
} from '@coll/strategy/internal';
import type { AgreedList } from './agreed-lists.js';
import type { GradientMemory } from './gradient-memory.js';
import { type OptimizerSettings, stateOf } from './optimizer-state.js';
import { type PresentStep, presentStepOf } from './present-step.js';
import { mixed } from './same-variables.js';
import { shareSettings } from './shared-settings.js';
import type { TensorFlow, TfOptimizer } from './tensorflow.js';
import { sumOf } from './variable-sum.js';

/** What happens if replicas are no longer equal. */
export type OnDifference = 'throw' | 'warn';

/** The optimizer that steps, whose settings and variables are compared. */
export interface GuardedOptimizer {
  readonly tf: TensorFlow;
  readonly optimizer: TfOptimizer;
  readonly settings: OptimizerSettings;
  readonly onDifference: OnDifference;
}

const listBits = 12;
const hashBits = 32;

/** Places of the guard's numbers, behind those of the step itself. */
const places = {
  nonFinite: 0,
  hasFingerprint: 1,
  list: 2,
  settings: 2 + equalWidth(listBits),
  fingerprint: 2 + equalWidth(listBits) + equalWidth(hashBits),
  stop: 2 + equalWidth(listBits) + 2 * equalWidth(hashBits),
} as const;

/** The mean of `stop` is at most 1 if no process was asked to end, and at least 2 otherwise. */
const leastOfRequest = 1.5;

/** How many numbers the guard adds to each step. */
export const guardWidth = places.stop + 1;

/** A variable whose elements are compared, and their sum. */
interface Print {
  readonly what: 'variable' | 'state';
  readonly name: string;
  readonly sum: number;
}

/**
 * Detects replicas that are no longer equal, by numbers that travel with the gradients. Compared
 * are, in each step, the list of variables and the class and scalar settings of the optimizer; in
 * the first step and after `setWeights`, its state; every few steps, the variables. All replicas
 * find a difference in the same step, before they change any variable, and only then exchange what
 * an error needs. The guard also names the first replica whose gradients contain NaN or infinity,
 * and carries the wish of a replica to end the training.
 */
export class StepGuard {
  readonly #info: ReplicaInfo;
  readonly #optimizer: GuardedOptimizer | undefined;
  readonly #present: PresentStep;
  readonly #warned = new Set<string>();
  /** The number of the present step, from 1. */
  #step = 1;
  #hasNamed = false;
  #list: AgreedList | undefined;
  /** The variable whose gradient is not finite, in the present step. */
  #nonFinite: string | undefined;
  #prints: readonly Print[] | undefined;

  /** @param optimizer undefined: settings and variables are not compared */
  constructor(info: ReplicaInfo, optimizer?: GuardedOptimizer) {
    this.#info = info;
    this.#optimizer = optimizer;
    this.#present = presentStepOf(info);
  }

  /** Records that the present step has been made. */
  noteStep(): void {
    this.#step += 1;
    if (this.#optimizer) this.#optimizer.settings.hasLoaded = false;
  }

  /** Writes the numbers of the present step. */
  write(numbers: Float32Array, at: number, list: AgreedList, gradients: readonly (GradientMemory | undefined)[]): void {
    this.#list = list;
    this.#prints = this.#printsOf(list);
    const index = this.#hasNamed
      ? -1
      : firstNonFinite(
          gradients.map((gradient) => gradient?.input),
          this.#step,
        );
    this.#nonFinite = list.variables[index]?.name;
    numbers[at + places.nonFinite] = index < 0 ? 0 : 1;
    writeEqual(numbers, at + places.list, list.number, listBits);
    writeEqual(numbers, at + places.settings, this.#optimizer?.settings.hash ?? 0, hashBits);
    numbers[at + places.stop] = this.#stop;
    if (!this.#prints) return;
    numbers[at + places.hasFingerprint] = 1;
    writeEqual(numbers, at + places.fingerprint, combined(this.#prints.map(({ sum }) => sum)), hashBits);
  }

  /**
   * Checks the means of the numbers over all replicas.
   * @throws InvalidArgumentError, the same on all replicas, if they differ
   */
  *check(means: Float32Array, at: number): Exchange<void> {
    const replicas = this.#info.numReplicasInSync;
    if (!wereEqual(means, at + places.list, listBits, replicas)) yield* this.#throwMixed();
    if (!wereEqual(means, at + places.settings, hashBits, replicas)) yield* this.#resolveSettings();
    else this.#optimizer?.settings.noteAgreed();
    const stop = means[at + places.stop] as number;
    if (stop > 0) this.#present.stops = true;
    if (stop > leastOfRequest) this.#present.wereAsked = true;
    // If the variables of some replicas are not in the CPU's memory, there is nothing to compare.
    const haveAll = (means[at + places.hasFingerprint] as number) > 1 - 1 / (2 * replicas);
    if (haveAll && !wereEqual(means, at + places.fingerprint, hashBits, replicas)) yield* this.#tellVariables();
    if ((means[at + places.nonFinite] as number) > 0 && !this.#hasNamed) yield* this.#tellNonFinite();
  }

  /** Whether this replica wants to end the training. The mean also says whether any process was asked to end. */
  get #stop(): number {
    const { wantsStop, wasAsked } = this.#present;
    if (wasAsked) return 2 * this.#info.numReplicasInSync;
    return wantsStop ? 1 : 0;
  }

  #printsOf({ variables, steps }: AgreedList): readonly Print[] | undefined {
    if (!this.#optimizer) return undefined;
    const { tf, optimizer, settings } = this.#optimizer;
    const isFirst = this.#step === 1 || settings.hasLoaded;
    if (!isFirst && steps % stepsBetweenFingerprints(variables.reduce((sum, { size }) => sum + size, 0)) !== 0)
      return undefined;
    const found = [
      ...variables.map((variable) => ({ what: 'variable' as const, name: variable.name, variable })),
      ...(isFirst ? stateOf(optimizer).map((state) => ({ what: 'state' as const, ...state })) : []),
    ].filter(({ variable }) => variable.dtype === 'float32');
    const prints = found.map(({ what, name, variable }) => ({ what, name, sum: sumOf(tf, variable) }));
    return prints.every((print): print is Print => print.sum !== undefined) ? prints : undefined;
  }

  *#throwMixed(): Exchange<never> {
    const { number, variables } = this.#list as AgreedList;
    const lists = yield* gatherValues({ number, names: variables.map(({ name }) => name) }, this.#info);
    const [rank = 0] = oddReplicas(lists.map((list) => String(list.number)));
    const texts = lists.map(({ names }, replica) => `replica ${replica} steps ${shortened(names)}`).join(', ');
    throw mixed(`replicas make steps of different trainings at the same time: ${texts}`, rank);
  }

  /** Takes over settings that a callback of one replica has changed, or reports the difference. */
  *#resolveSettings(): Exchange<void> {
    const { settings } = this.#optimizer as GuardedOptimizer;
    const areEqual = yield* shareSettings(settings, this.#info, this.#present.sharesSettings);
    if (!areEqual) yield* this.#tellSettings();
  }

  *#tellSettings(): Exchange<void> {
    if (this.#warned.has('settings')) return;
    const settings = yield* this.#gather(this.#optimizer?.settings.text ?? '');
    const odd = oddReplicas(settings.map(({ value }) => value));
    const usual = settings.find((_, replica) => !odd.includes(replica))?.value;
    const texts = odd.map((replica) => `replica ${replica} has ${settings[replica]?.value}`).join(', ');
    this.#tell('settings', settings, odd, {
      message: `replicas have different optimizers in step ${this.#step}: ${texts}, the others have ${usual}`,
      advice:
        'give the optimizers of all replicas the same settings, and change or load them on all replicas before the same step',
    });
  }

  *#tellVariables(): Exchange<void> {
    if (this.#warned.has('variables')) return;
    const prints = yield* this.#gather(this.#prints as readonly Print[]);
    const longest = Math.max(...prints.map(({ value }) => value.length));
    const sumsAt = (index: number) => prints.map(({ value }) => String(value[index]?.sum));
    const index = Array.from({ length: longest }, (_, at) => at).findIndex((at) => oddReplicas(sumsAt(at)).length > 0);
    if (index < 0) return;
    const odd = oddReplicas(sumsAt(index));
    const { what, name } = prints.map(({ value }) => value[index]).find((print) => print) as Print;
    const who = `replica ${odd.join(', ')}`;
    const [message, advice] =
      what === 'state'
        ? [`the state of the optimizer, "${name}"`, 'load it on all replicas, or on none']
        : [`the variable "${name}"`, 'change weights on all replicas alike, or call broadcastWeights after the change'];
    this.#tell('variables', prints, odd, {
      message: `replicas have parted: ${message} of ${who} differs from that of the others in step ${this.#step}`,
      advice,
    });
  }

  *#tellNonFinite(): Exchange<void> {
    this.#hasNamed = true;
    const names = yield* gatherValues(this.#nonFinite ?? null, this.#info);
    if (this.#info.replicaIdInSyncGroup !== 0) return;
    const found = [...names.keys()].filter((replica) => names[replica] !== null);
    const who = found.length === names.length ? 'all replicas' : `replica ${found.join(', ')}`;
    const message = `NaN or infinity in the gradients of ${who} in step ${this.#step}, first in that of "${names[found[0] as number]}"`;
    log('warn', `${message}; the mean of all replicas then contains it, too; later steps are not checked`);
  }

  *#gather<Value>(value: Value): Exchange<Gathered<Value>[]> {
    return yield* gatherValues({ value, mode: this.#optimizer?.onDifference ?? 'throw' }, this.#info);
  }

  /** Throws on all replicas, or on none: if any of them wants an error. */
  #tell(
    topic: string,
    all: readonly Gathered<unknown>[],
    odd: readonly number[],
    { message, advice }: { readonly message: string; readonly advice: string },
  ): void {
    if (all.some(({ mode }) => mode === 'throw')) {
      throw new InvalidArgumentError('ERR_COLL_MISMATCH', `${message}; ${advice}`, { rank: odd[0] });
    }
    this.#warned.add(topic);
    if (this.#info.replicaIdInSyncGroup === 0) log('warn', `${message}; ${advice}`);
  }
}

interface Gathered<Value> {
  readonly value: Value;
  readonly mode: OnDifference;
}

/** The first of some names, quoted, and how many others there are. */
function shortened(names: readonly string[]): string {
  const others = names.length - 1;
  return `"${names[0]}"${others > 0 ? ` and ${others} other variable${others > 1 ? 's' : ''}` : ''}`;
}
