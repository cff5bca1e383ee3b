import type { Communicator, RunOptions, Segments, Tensor, TypedArray } from '@coll/core';
import type { Call, Outcome } from './group.js';

/** The reason of the signals that the option `abort` aborts. */
export const abortReason = 'the caller aborted the call';

/** Makes calls on a communicator, as specified by `GroupMember.execute`. */
export async function executeCalls(communicator: Communicator, calls: readonly Call[]): Promise<Outcome[]> {
  const outcomes: Promise<Outcome>[] = [];
  for (const call of calls) {
    // Waits, because a blocking call is an error while other calls of this rank are in flight.
    if (call.mode === 'runSync') await Promise.all(outcomes);
    outcomes.push(outcomeOf(communicator, call));
  }
  return Promise.all(outcomes);
}

async function outcomeOf(communicator: Communicator, call: Call): Promise<Outcome> {
  try {
    await makeCall(communicator, call);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(`threw ${String(error)}`);
  }
}

async function makeCall(communicator: Communicator, call: Call): Promise<void> {
  const { collective, mode, abort, timeoutSeconds, sharedResult } = call;
  const controller = new AbortController();
  const reason = new Error(abortReason);
  if (abort === 'before') controller.abort(reason);
  const options: RunOptions = {
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
    ...(sharedResult === undefined ? {} : { sharedResult }),
    ...(abort === undefined ? {} : { signal: controller.signal }),
  };
  const places = call.isAllocated ? allocatedPlaces(communicator, call) : undefined;
  const [inputs = [], outputs = []] = segmentsOf(places ?? call, call.cuts);
  if (call.detached) detach(call);
  if (mode === 'runSync') {
    communicator.runSync(collective, inputs, outputs, options);
  } else {
    const running = communicator.run(collective, inputs, outputs, options);
    if (abort === 'at once') controller.abort(reason);
    if (abort === 'later') setTimeout(() => controller.abort(reason));
    await running;
  }
  places?.copyBack();
}

/** The buffers of a call, split into segments at the elements `cuts`. */
function segmentsOf(
  { inputs, outputs }: Pick<Call, 'inputs' | 'outputs'>,
  cuts: readonly number[] | undefined,
): readonly (readonly Segments[])[] {
  if (!cuts) return [inputs, outputs];
  const cut = ({ data, dtype, device }: Tensor): Tensor[] =>
    [0, ...cuts].map((begin, index) => {
      const part = data.subarray(begin, cuts[index] ?? data.length);
      return { data: part, dtype, shape: [part.length], device };
    });
  return [inputs.map(cut), outputs.map(cut)];
}

function detach({ inputs, outputs, detached }: Call): void {
  const [tensor] = detached === 'input' ? inputs : outputs;
  const { buffer } = (tensor as Tensor).data;
  structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
}

interface Places {
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  copyBack(): void;
}

/**
 * Copies the tensors of a call into memory that the group allocates. If several tensors use the
 * same array, they share its copy.
 */
function allocatedPlaces(communicator: Communicator, { inputs, outputs }: Call): Places {
  const places = new Map<TypedArray, Tensor>();
  const placeOf = (tensor: Tensor): Tensor => {
    const known = places.get(tensor.data);
    if (known) return known;
    const made = communicator.group.allocate(tensor.dtype, tensor.data.length);
    copy(made.data, tensor.data);
    places.set(tensor.data, made);
    return made;
  };
  return {
    inputs: inputs.map(placeOf),
    outputs: outputs.map(placeOf),
    copyBack() {
      for (const [data, place] of places) copy(data, place.data);
    },
  };
}

function copy(into: TypedArray, from: TypedArray): void {
  (into as Float32Array).set(from as Float32Array);
}
