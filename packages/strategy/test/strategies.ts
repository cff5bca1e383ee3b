import { MirroredStrategy } from '../src/index.js';

/** That many devices. */
export function cpu(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `cpu:${index}`);
}

/** A strategy of that many replicas in this thread. */
export function strategyOf(replicas: number): MirroredStrategy {
  return new MirroredStrategy({ devices: cpu(replicas) });
}

/** Until the event loop has come around. */
export function tick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export function never(): Promise<never> {
  return new Promise(() => {});
}
