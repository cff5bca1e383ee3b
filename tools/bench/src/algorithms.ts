import type { Algorithm, Plugin } from '@coll/core';
import { direct, directAlgorithm } from '@coll/direct';
import { hierarchicalCopy, hierarchicalCopyAlgorithm } from '@coll/hierarchical-copy';
import { reductionToOne, reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { ring, ringAlgorithm } from '@coll/ring';

export const algorithmNames = ['ring', 'direct', 'hierarchical-copy', 'reduction-to-one'] as const;
export type AlgorithmName = (typeof algorithmNames)[number];

export const algorithms: Readonly<Record<AlgorithmName, Algorithm>> = {
  ring: ringAlgorithm(),
  direct: directAlgorithm(),
  'hierarchical-copy': hierarchicalCopyAlgorithm(),
  'reduction-to-one': reductionToOneAlgorithm(),
};

/** The plug-ins of the algorithms, with their default options. */
export const plugins: Readonly<Record<AlgorithmName, Plugin<never>>> = {
  ring,
  direct,
  'hierarchical-copy': hierarchicalCopy,
  'reduction-to-one': reductionToOne,
};
