import { type Collective, type DType, type Tensor, zeros } from '@coll/core';
import type { Call } from '../group.js';

/**
 * A mistake: a function that makes a valid call invalid. Returns undefined if the mistake does not
 * apply to the call.
 */
export type Damage = (call: Call) => Call | undefined;

const outputsOf =
  (change: (tensor: Tensor) => Tensor): Damage =>
  (call) => ({
    ...call,
    outputs: call.outputs.map(change),
  });
const inputsOf =
  (change: (tensor: Tensor) => Tensor): Damage =>
  (call) => ({ ...call, inputs: call.inputs.map(change) });
const ofLength = ({ dtype }: Tensor, length: number) => zeros(dtype, [length]);
const ofDType = ({ data }: Tensor, dtype: DType) => zeros(dtype, [data.length]);

/**
 * Mistakes that a member can detect without the other members, by name. If the collective of a call
 * has a root, the root must be the member's last rank.
 */
export const damages: Readonly<Record<string, Damage>> = {
  'no input': (call) => ({ ...call, inputs: [] }),
  'one output too many': (call) => ({ ...call, outputs: [...call.outputs, zeros('float32', [4])] }),
  'outputs that are too short': outputsOf((tensor) => ofLength(tensor, Math.max(0, tensor.data.length - 1))),
  'outputs that are too long': outputsOf((tensor) => ofLength(tensor, tensor.data.length + 1)),
  'empty outputs': outputsOf((tensor) => ofLength(tensor, 0)),
  'outputs of another dtype': outputsOf((tensor) => ofDType(tensor, 'int32')),
  'one output of another length': (call) => oddOutput(call, (tensor) => ofLength(tensor, tensor.data.length + 1)),
  'one output of another dtype': (call) => oddOutput(call, (tensor) => ofDType(tensor, 'uint32')),
  'one input of another length': (call) => oddInput(call, (tensor) => ofLength(tensor, 2 * tensor.data.length)),
  'one input of another dtype': (call) => oddInput(call, (tensor) => ofDType(tensor, 'int32')),
  'integer outputs for the mean of integers': integersForMean,
  'inputs in an array of another type than the dtype': inputsOf((tensor) => ({ ...tensor, dtype: 'float64' })),
  'inputs whose shape has more elements than the array': inputsOf((tensor) => ({
    ...tensor,
    shape: [tensor.data.length + 1],
  })),
  'an input whose length is not divisible by the number of ranks': undividedInput,
  'a buffer with elements on a rank that has none': idleBuffer,
  'a detached input': (call) => detached(call, 'input', call.inputs),
  'a detached output': (call) => detached(call, 'output', call.outputs),
  'two outputs that overlap': overlappingOutputs,
  'an output that partly overlaps the input of another rank': outputOverInput,
  'an output at the address of the input of another rank': outputInPlaceOfInput,
  'a shared output at the address of an input': sharedOutputOnInput,
  'one output for all ranks without sharedResult': oneOutput,
  'an output that overlaps its own input with an offset': outputShifted,
  'an unknown kind': (call) => ({ ...call, collective: { ...call.collective, kind: 'shuffle' } as never }),
  'an unknown op': unknownOp,
};

function oddInput(call: Call, change: (tensor: Tensor) => Tensor): Call | undefined {
  const [first, ...others] = call.inputs as [Tensor, ...Tensor[]];
  // In these collectives only the root has an input that matters.
  if (others.length === 0 || ['broadcast', 'scatter'].includes(call.collective.kind)) return undefined;
  return { ...call, inputs: [change(first), ...others] };
}

function oddOutput(call: Call, change: (tensor: Tensor) => Tensor): Call | undefined {
  const [first, ...others] = call.outputs as [Tensor, ...Tensor[]];
  if (others.length === 0 || ['reduce', 'gather'].includes(call.collective.kind)) return undefined;
  return { ...call, outputs: [change(first), ...others] };
}

/**
 * A copy of the call that also asks for a buffer to be detached; undefined for an empty buffer, because
 * detaching an empty buffer has no visible effect.
 */
function detached(call: Call, side: 'input' | 'output', [first]: readonly Tensor[]): Call | undefined {
  return first?.data.length === 0 ? undefined : { ...call, detached: side };
}

function integersForMean(call: Call): Call | undefined {
  const { collective } = call;
  if (!('op' in collective)) return undefined;
  const asIntegers = (tensor: Tensor) => ofDType(tensor, 'int32');
  const mean: Collective = { ...collective, op: 'mean' };
  return { ...call, collective: mean, inputs: call.inputs.map(asIntegers), outputs: call.outputs.map(asIntegers) };
}

function undividedInput(call: Call): Call | undefined {
  const [input, output] = [call.inputs.at(-1), call.outputs.at(-1)] as [Tensor, Tensor];
  const isDivided = ['reduce-scatter', 'scatter', 'all-to-all'].includes(call.collective.kind);
  if (!isDivided || (call.collective.kind !== 'all-to-all' && input.data.length === output.data.length))
    return undefined;
  const longer = (tensor: Tensor) => (tensor.data.length === 0 ? tensor : ofLength(tensor, tensor.data.length + 1));
  return { ...call, inputs: call.inputs.map(longer) };
}

function idleBuffer(call: Call): Call | undefined {
  const { inputs, outputs, collective } = call;
  if (inputs.length === 1) return undefined;
  const filled = ([first, ...others]: readonly Tensor[]) => [ofLength(first as Tensor, 4), ...others];
  if (collective.kind === 'gather') return { ...call, outputs: filled(outputs) };
  return collective.kind === 'scatter' ? { ...call, inputs: filled(inputs) } : undefined;
}

function overlappingOutputs(call: Call): Call | undefined {
  const { outputs, collective } = call;
  if (outputs.length === 1 || collective.kind === 'reduce' || collective.kind === 'gather') return undefined;
  const [one, other] = overlapping(outputs[0] as Tensor, outputs.at(-1) as Tensor);
  return { ...call, outputs: [one, ...outputs.slice(1, -1), other] };
}

function outputOverInput(call: Call): Call | undefined {
  const clash = clashOf(call);
  if (!clash) return undefined;
  const [output, input] = overlapping(call.outputs[clash.writer] as Tensor, call.inputs[clash.reader] as Tensor);
  return withClash(call, clash, output, input);
}

function outputInPlaceOfInput(call: Call): Call | undefined {
  const clash = clashOf(call);
  const [output, input] = [call.outputs[clash?.writer ?? 0], call.inputs[clash?.reader ?? 0]] as [Tensor, Tensor];
  if (!clash || output.data.length !== input.data.length) return undefined;
  return withClash(call, clash, input, input);
}

function sharedOutputOnInput(call: Call): Call | undefined {
  const { inputs, outputs, collective } = call;
  const last = inputs.at(-1) as Tensor;
  if (inputs.length === 1 || collective.kind === 'reduce' || outputs[0]?.data.length !== last.data.length)
    return undefined;
  return { ...call, sharedResult: true, outputs: outputs.map(() => last) };
}

function oneOutput(call: Call): Call | undefined {
  if (call.outputs.length === 1 || call.collective.kind === 'reduce') return undefined;
  return { ...call, outputs: call.outputs.map(() => call.outputs[0] as Tensor) };
}

function outputShifted(call: Call): Call {
  const last = call.outputs.length - 1;
  const [output, input] = overlapping(call.outputs[last] as Tensor, call.inputs[last] as Tensor);
  return withClash(call, { writer: last, reader: last }, output, input);
}

function unknownOp(call: Call): Call | undefined {
  const { collective } = call;
  return 'op' in collective ? { ...call, collective: { ...collective, op: 'average' as never } } : undefined;
}

interface Clash {
  readonly writer: number;
  readonly reader: number;
}

/**
 * Two different ranks of a call: one that writes its output, and one that reads its input.
 * Undefined if the call has only one rank.
 */
function clashOf({ collective, inputs }: Call): Clash | undefined {
  const last = inputs.length - 1;
  if (last === 0) return undefined;
  return collective.kind === 'reduce' || collective.kind === 'gather'
    ? { writer: last, reader: 0 }
    : { writer: 0, reader: last };
}

function withClash(call: Call, { writer, reader }: Clash, output: Tensor, input: Tensor): Call {
  return {
    ...call,
    outputs: call.outputs.map((tensor, at) => (at === writer ? output : tensor)),
    inputs: call.inputs.map((tensor, at) => (at === reader ? input : tensor)),
  };
}

/**
 * Makes two tensors of the given lengths that share one element: the last of the first tensor and
 * the first of the second.
 */
function overlapping(one: Tensor, other: Tensor): [Tensor, Tensor] {
  const whole = new Float32Array(one.data.length + other.data.length - 1);
  return [
    { ...one, data: whole.subarray(0, one.data.length) },
    { ...other, data: whole.subarray(one.data.length - 1) },
  ];
}
