import type { Algorithm, Plugin } from '@coll/core';
import { direct, directAlgorithm } from '@coll/direct';
import { reductionToOne, reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { ring, ringAlgorithm } from '@coll/ring';

export const algorithmNames = ['ring', 'direct', 'reduction-to-one'] as const;
export type AlgorithmName = (typeof algorithmNames)[number];

export const algorithms: Readonly<Record<AlgorithmName, Algorithm>> = {
  ring: ringAlgorithm(),
  direct: directAlgorithm,
  'reduction-to-one': reductionToOneAlgorithm(),
};

/** The plug-ins that play them, with their default options. */
export const plugins: Readonly<Record<AlgorithmName, Plugin<never>>> = {
  ring,
  direct,
  'reduction-to-one': reductionToOne,
};
