import { direct, directAlgorithm } from '@coll/direct';
import { hierarchicalCopy, hierarchicalCopyAlgorithm } from '@coll/hierarchical-copy';
import { reductionToOne, reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { ring, ringAlgorithm } from '@coll/ring';
import type { SuiteAlgorithm } from '@coll/testing';

/** The algorithms that groups of processes execute in the suites. */
export const algorithms: readonly SuiteAlgorithm[] = [
  { algorithm: directAlgorithm(), source: { module: direct.module, export: 'direct' } },
  { algorithm: ringAlgorithm(), source: { module: ring.module, export: 'ring' } },
  { algorithm: reductionToOneAlgorithm(), source: { module: reductionToOne.module, export: 'reductionToOne' } },
  { algorithm: hierarchicalCopyAlgorithm(), source: { module: hierarchicalCopy.module, export: 'hierarchicalCopy' } },
];
