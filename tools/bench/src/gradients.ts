import { readFileSync } from 'node:fs';
import { bytesPerElement } from './sizes.js';

/** Networks whose gradients are measured, by their published architectures. */
export const gradientSets = ['resnet50', 'bert-base', 'gpt2-small'] as const;
export type GradientSet = (typeof gradientSets)[number];

/** The lengths of a network's tensors, in the order in which a backward pass completes them: the last layer first. */
export function gradientLengths(set: GradientSet): number[] {
  const file = new URL(`../gradsets/${set}.txt`, import.meta.url);
  return readFileSync(file, 'utf8').trim().split('\n').map(Number);
}

export function gradientBytes(set: GradientSet): number {
  return gradientLengths(set).reduce((sum, length) => sum + length, 0) * bytesPerElement;
}
