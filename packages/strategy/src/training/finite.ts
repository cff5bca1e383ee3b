/** Gradients of at most this many elements are checked whole; of larger ones, this many elements. */
const checkedElements = 1024;

/**
 * The index of the first gradient in which a NaN or an infinity was found; -1 if none was found.
 * Large gradients are sampled: each step checks other elements, so that after
 * `size / checkedElements` steps all have been checked.
 */
export function firstNonFinite(gradients: readonly (ArrayLike<number> | undefined)[], step: number): number {
  return gradients.findIndex((gradient) => gradient !== undefined && !areFinite(gradient, step));
}

function areFinite(values: ArrayLike<number>, step: number): boolean {
  const stride = Math.ceil(values.length / checkedElements);
  // Zero times a finite number is zero, times any other it is NaN.
  let zero = 0;
  for (let at = step % stride || 0; at < values.length; at += stride) zero += (values[at] as number) * 0;
  return zero === 0;
}
