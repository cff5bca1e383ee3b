/** Points of the plane, two numbers each, and 1 for each point that is inside the unit circle, otherwise 0. */
export interface Points {
  readonly x: Float32Array;
  readonly y: Float32Array;
}

/** Points for training, and others for the test. Each call returns the same. */
export function points(): { readonly train: Points; readonly test: Points } {
  const x = Float32Array.from({ length: 2 * 1279 }, (_, i) => 1.5 * Math.sin(i * i));
  const y = Float32Array.from({ length: 1279 }, (_, i) => (Math.hypot(x[2 * i] ?? 0, x[2 * i + 1] ?? 0) < 1 ? 1 : 0));
  return {
    train: { x: x.subarray(0, 2 * 1023), y: y.subarray(0, 1023) },
    test: { x: x.subarray(2 * 1023), y: y.subarray(1023) },
  };
}
