import type { TensorFlow, TfTensor } from './tensorflow.js';

/** The part of a record of TensorFlow.js about one operation. */
interface TapeNode {
  readonly kernelName: string;
  readonly inputs: Readonly<Record<string, TfTensor>>;
  readonly outputs: readonly TfTensor[];
}

interface Recording {
  readonly state?: { readonly activeTape?: readonly TapeNode[] | null };
}

/**
 * Whether the loss that is being recorded was computed from a part of a batch without samples: some
 * tensor that it was computed from is empty, and either all of its matrices are, or the mean of an
 * empty tensor was taken. Such a loss and its gradients mean nothing, and differ between backends.
 * Called at the end of a loss function.
 */
export function isOfEmptyPart(tf: TensorFlow): boolean {
  const tape = (tf.engine() as Recording).state?.activeTape ?? [];
  const hasEmpty = tape.some(({ inputs }) => Object.values(inputs).some(isEmpty));
  if (!hasEmpty) return false;
  if (tape.some(({ kernelName, inputs }) => kernelName === 'Mean' && Object.values(inputs).some(isEmpty))) return true;
  const computed = new Set(tape.flatMap(({ outputs }) => outputs));
  const given = tape
    .flatMap(({ inputs }) => Object.values(inputs))
    .filter((input) => !computed.has(input) && !('assign' in input));
  return given.some(isEmpty) && given.every((input) => isEmpty(input) || input.shape.length < 2);
}

function isEmpty({ size }: TfTensor): boolean {
  return size === 0;
}
