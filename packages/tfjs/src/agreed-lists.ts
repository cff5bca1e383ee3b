import { type Exchange, hashOf, type ReplicaInfo, whichAreEqual } from '@coll/strategy/internal';
import { differentVariables, formsOf, requireSameVariables, type TrainingNumber } from './same-variables.js';
import { isCarried, type TfVariable } from './tensorflow.js';

/** Variables of a training, in an order that is equal on all replicas. */
export interface AgreedList {
  /** Equal on all replicas, and different from those of other lists. */
  readonly number: number;
  /** Grows if it is the open list. */
  readonly variables: TfVariable[];
  /** Indices of the variables that ever had a gradient on any replica, in order of appearance. */
  readonly known: number[];
  /** Samples in a part of the first step that was not empty, the largest of all replicas. */
  readonly usualSamples: number;
  steps: number;
}

/** What the trainings of a replica have in common. */
interface Trainings {
  created: number;
  lists: number;
}

// Kept as long as the context of the replica.
const trainingsOf = new WeakMap<ReplicaInfo, Trainings>();

/**
 * The lists of variables of one training, on which replicas agree in the first step with each list:
 * lists that the program gives, and the open list of variables that were found to have a gradient.
 */
export class AgreedLists {
  readonly #info: ReplicaInfo;
  readonly #trainings: Trainings;
  readonly #number: number;
  readonly #given = new Map<string, AgreedList>();
  #open: AgreedList | undefined;

  constructor(info: ReplicaInfo) {
    this.#info = info;
    this.#trainings = trainingsOf.get(info) ?? { created: 0, lists: 0 };
    trainingsOf.set(info, this.#trainings);
    this.#number = this.#trainings.created;
    this.#trainings.created += 1;
  }

  /** Whether this replica has more than one training. */
  get hasOthers(): boolean {
    return this.#trainings.created > 1;
  }

  /** The list of variables that were found to have a gradient; undefined before the first step. */
  get open(): AgreedList | undefined {
    return this.#open;
  }

  /**
   * The list of these variables. On its first use, checks that it is the same on all replicas.
   * @param withThem returns variables that are compared as well
   * @throws the errors of `requireSameVariables`
   */
  *given(
    variables: readonly TfVariable[],
    samples: number | undefined,
    withThem: () => readonly TfVariable[] = () => [],
  ): Exchange<AgreedList> {
    const key = variables.map(({ id }) => id).join();
    const known = this.#given.get(key);
    if (known) return known;
    const usual = yield* this.compare([...variables, ...withThem()], samples);
    const list = this.#listOf([...variables], [], usual);
    this.#given.set(key, list);
    return list;
  }

  /**
   * Adds to the open list the variables that have a gradient on any replica. Returns what was added.
   * Candidates are compared by their position if they have equal dtypes and shapes on all replicas;
   * if not, because a replica has a variable of its own, those with a gradient must be equal.
   * @param candidates variables that may have a gradient
   * @param withGradient those that have one on this replica
   * @throws InvalidArgumentError, the same on all replicas, if they differ
   */
  *learn(
    candidates: readonly TfVariable[],
    withGradient: ReadonlySet<TfVariable>,
    samples: number | undefined,
  ): Exchange<readonly TfVariable[]> {
    const known = new Set(this.#open?.variables);
    const rest = candidates.filter((variable) => isCarried(variable.dtype) && !known.has(variable));
    const mine = rest.filter((variable) => withGradient.has(variable));
    const [areCandidatesEqual, areMineEqual] = yield* whichAreEqual([rest, mine].map((list) => hashOf(formsOf(list))));
    if (!areCandidatesEqual && !areMineEqual) throw yield* differentVariables(mine, this.#info);
    const added = areCandidatesEqual ? yield* unionOf(rest, withGradient) : mine;
    const usual = yield* this.compare([], samples);
    this.#open ??= this.#listOf([], [], usual);
    for (const variable of added) {
      this.#open.known.push(this.#open.variables.length);
      this.#open.variables.push(variable);
    }
    return added;
  }

  /**
   * Checks that these variables are the same on all replicas. Returns the largest number of samples,
   * or 1 if no replica has any.
   * @throws the errors of `requireSameVariables`
   */
  *compare(variables: readonly TfVariable[], samples: number | undefined): Exchange<number> {
    const training: TrainingNumber = { number: this.#number, of: this.#trainings.created };
    return (yield* requireSameVariables(variables, this.#info, { training, samples })) || 1;
  }

  #listOf(variables: TfVariable[], known: number[], usualSamples: number): AgreedList {
    const number = this.#trainings.lists;
    this.#trainings.lists += 1;
    return { number, variables, known, usualSamples, steps: 0 };
  }
}

/** The candidates that have a gradient on any replica. */
function* unionOf(
  candidates: readonly TfVariable[],
  withGradient: ReadonlySet<TfVariable>,
): Exchange<readonly TfVariable[]> {
  const presence = Uint8Array.from(candidates, (variable) => (withGradient.has(variable) ? 1 : 0));
  if (presence.length > 0) yield { op: 'max', values: [presence], into: [presence] };
  return candidates.filter((_, index) => presence[index] !== 0);
}
