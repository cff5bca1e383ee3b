import { InvalidArgumentError, ValueError } from '@coll/core';
import { type Exchange, gatherValues, hashOf, type ReplicaInfo } from '@coll/strategy/internal';
import { isCarried, type TfVariable } from './tensorflow.js';

interface Description {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
}

/** The number of a training among those of its replica, in order of creation. */
export interface TrainingNumber {
  readonly number: number;
  /** How many trainings the replica has created so far. */
  readonly of: number;
}

/** What replicas tell each other in their first step with a list of variables. */
interface FirstStep {
  /**
   * Detects replicas that begin different trainings of equal shapes. Not compared if replicas have
   * created different numbers of trainings.
   */
  readonly training?: TrainingNumber;
  readonly samples?: number | undefined;
}

interface Meeting {
  readonly training: TrainingNumber | undefined;
  readonly variables: readonly Description[];
}

/**
 * Checks that dtypes and shapes of variables are equal on all replicas, in list order. Names may
 * differ, because TensorFlow.js numbers layers separately in each process. If all replicas agree,
 * this takes a single all-reduce of three numbers. Returns the largest number of samples.
 * @throws InvalidArgumentError, the same on all replicas, with the first variable that differs and
 * its description on each replica; ValueError for dtypes that cannot be sent
 */
export function* requireSameVariables(
  variables: readonly TfVariable[],
  info: ReplicaInfo,
  { training, samples = 0 }: FirstStep = {},
): Exchange<number> {
  const odd = variables.find(({ dtype }) => !isCarried(dtype));
  if (odd)
    throw new ValueError(
      'ERR_COLL_VALUE',
      `the dtype of variable "${odd.name}" must be float32, int32 or bool, got ${odd.dtype}`,
    );
  const hash = hashOf(`${formsOf(variables)} ${training?.number}`);
  const extremes = Float64Array.of(hash, -hash, samples);
  yield { op: 'max', values: [extremes], into: [extremes] };
  const [most, leastNegated, mostSamples] = extremes as unknown as [number, number, number];
  if (most === -leastNegated) return mostSamples;
  const meetings = yield* gatherValues<Meeting>({ training, variables: variables.map(describe) }, info);
  const difference =
    mixedOf(meetings.map((meeting) => meeting.training)) ?? differenceOf(meetings.map((meeting) => meeting.variables));
  if (difference) throw difference;
  return mostSamples;
}

/** The error for replicas whose variables differ, the same on all replicas. */
export function* differentVariables(
  variables: readonly TfVariable[],
  info: ReplicaInfo,
): Exchange<InvalidArgumentError> {
  return differenceOf(yield* gatherValues(variables.map(describe), info)) as InvalidArgumentError;
}

function describe({ name, dtype, shape }: TfVariable): Description {
  return { name, dtype, shape };
}

/** The dtypes and shapes of variables, as a text. */
export function formsOf(variables: readonly TfVariable[]): string {
  return JSON.stringify(variables.map(({ dtype, shape }) => [dtype, shape]));
}

function differenceOf(lists: readonly (readonly Description[])[]): InvalidArgumentError | undefined {
  const first = lists[0] as readonly Description[];
  const formOf = (variable: Description | undefined) => JSON.stringify([variable?.dtype, variable?.shape]);
  const differs = (list: readonly Description[], index: number) => formOf(list[index]) !== formOf(first[index]);
  const length = Math.max(...lists.map((list) => list.length));
  const index = Array.from({ length }, (_, at) => at).findIndex((at) => lists.some((list) => differs(list, at)));
  if (index < 0) return undefined;
  const rank = lists.findIndex((list) => differs(list, index));
  const texts = lists.map((list, replica) => `${tell(list[index])} on replica ${replica}`).join(', ');
  return new InvalidArgumentError(
    'ERR_COLL_MISMATCH',
    `replicas train different models: variable ${index} is ${texts}`,
    { rank },
  );
}

function tell(variable: Description | undefined): string {
  return variable ? `"${variable.name}", ${variable.dtype} [${variable.shape}],` : 'missing';
}

function mixedOf(trainings: readonly (TrainingNumber | undefined)[]): InvalidArgumentError | undefined {
  const first = trainings[0];
  if (trainings.some((training) => training && first && training.of !== first.of)) return undefined;
  const rank = trainings.findIndex((training) => training?.number !== first?.number);
  if (rank < 0) return undefined;
  const texts = trainings.map((training, replica) => {
    const what = training ? `optimizer ${training.number}` : 'broadcastWeights';
    return `${what} on replica ${replica}`;
  });
  return mixed(`replicas begin different work (optimizers are numbered as created): ${texts.join(', ')}`, rank);
}

/** The error for replicas whose steps belong to different trainings. */
export function mixed(message: string, rank: number | undefined, cause?: unknown): InvalidArgumentError {
  return new InvalidArgumentError('ERR_COLL_MISMATCH', `${message}; ${oneAfterTheOther}`, { rank, cause });
}

const oneAfterTheOther =
  'train one model after the other: await one model.fit before the next one begins, and step optimizers in the same order on all replicas';
