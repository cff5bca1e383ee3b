import type { CollectiveKind } from '@coll/core';
import { knownOptions, requireKnownOptions } from '@coll/core/internal';
import { collectiveKinds } from '@coll/core/plugin';
import type { DeclareGroup } from './algorithm-suite.js';
import type { DeclareTest } from './declare-test.js';
import { disagreementCases } from './executor/disagreement-cases.js';
import type { ExecutorCase, ExecutorCases } from './executor/executor-case.js';
import { manyRanksCases, manyRanksFailureCases } from './executor/many-ranks-cases.js';
import { memoryCases } from './executor/memory-cases.js';
import { refusalCases } from './executor/refusal-cases.js';
import { growthCases, sequenceCases } from './executor/sequence-cases.js';
import { hasManyRanks, Subject } from './executor/subject.js';
import { dtypeCases, referenceCases, scheduleCases } from './executor/value-cases.js';
import { crashCases, waitingCases } from './executor/waiting-cases.js';
import type { OpenGroup } from './group.js';
import { type SuiteAlgorithm, titleOf } from './suite-algorithm.js';
import { treeAlgorithm } from './tree-algorithm.js';

/** The executor under test and the test framework. */
export interface ExecutorSuiteOptions {
  /** The function of the test framework that declares a test, such as `test` of vitest. */
  readonly test: DeclareTest;
  /**
   * The function of the test framework that declares a group of tests, such as `describe` of
   * vitest. Default: tests are declared without a group.
   */
  readonly describe?: DeclareGroup;
  /** The name of the executor under test. Test names begin with it. */
  readonly name: string;
  /** Opens a group of ranks that execute an algorithm. The suite closes the group. */
  readonly open: OpenGroup;
  /**
   * The algorithms to test. The suite also tests an algorithm that adds values in the order of a
   * tree. Undefined means that the executor has its own algorithm; bits are then compared only if
   * they do not depend on the order of arithmetic.
   */
  readonly algorithms?: readonly SuiteAlgorithm[];
  /**
   * The numbers of ranks to test. Default: 1 to 8. More than 8 ranks are tested with fewer cases
   * and short buffers, so that ranks may outnumber cores.
   */
  readonly ranks?: readonly number[];
  /** The kinds of collectives to test. Default: all. */
  readonly kinds?: readonly CollectiveKind[];
  /**
   * Returns the number of members of a group of `size` ranks. Cases that then have nothing to check
   * are not declared. Default: the number is unknown.
   */
  readonly membersOf?: (size: number) => number;
  /**
   * The optional methods of `GroupMember` that members do not have; cases that call them are not
   * declared. Default: none.
   */
  readonly lacks?: readonly ('crash' | 'reserve')[];
}

const executorSuiteOptions = knownOptions<ExecutorSuiteOptions>('executorSuite', {
  test: true,
  describe: true,
  name: true,
  open: true,
  algorithms: true,
  ranks: true,
  kinds: true,
  membersOf: true,
  lacks: true,
});

/**
 * Declares the tests that every executor of collectives must pass, whether its ranks are in one
 * thread, threads or processes.
 * @throws ValueError for an unknown option
 *
 * @example
 * ```ts
 * import { test } from 'node:test';
 * import { jsEngine } from '@coll/core';
 * import { directAlgorithm } from '@coll/direct';
 * import { controllerGroup, executorSuite } from '@coll/testing';
 *
 * executorSuite({
 *   test,
 *   name: 'plain JavaScript',
 *   open: controllerGroup((algorithm, size) => jsEngine.communicator(size, algorithm)),
 *   algorithms: [{ algorithm: directAlgorithm() }],
 *   ranks: [2],
 * });
 * ```
 */
export function executorSuite(options: ExecutorSuiteOptions): void {
  requireKnownOptions(options, executorSuiteOptions);
  const { describe, name } = options;
  if (describe) describe(`executor ${name}`, () => declareAll(options));
  else declareAll(options);
}

function declareAll({
  test,
  name,
  open,
  algorithms,
  ranks = usualRanks,
  kinds = collectiveKinds,
  membersOf,
  lacks = [],
}: ExecutorSuiteOptions) {
  const tested = algorithms ? [...algorithms, ownAlgorithm] : [undefined];
  for (const algorithm of tested) {
    for (const size of ranks) {
      const subject = new Subject({ open, algorithm, size, kinds });
      const title = `${name}: ${titleOf(algorithm)} among ${size}`;
      const setting = { size, members: size === 1 ? 1 : membersOf?.(size), kinds, lacks };
      const isFirst = algorithm === tested[0];
      const cases = hasManyRanks(size)
        ? casesWithManyRanks(algorithm, isFirst)
        : // Arithmetic, memory and waiting depend on the executor rather than on the algorithm, and
          // little on the size, so they are tested with few algorithms and sizes.
          casesOf(algorithm, {
            size,
            isFirst,
            isWhole: (isFirst || algorithm === ownAlgorithm) && (size <= 4 || size === Math.max(...ranks)),
          });
      const all = Object.entries(cases);
      const declared = all.filter(([, { appliesTo }]) => appliesTo?.(setting) ?? true);
      declare(test, title, declared, subject);
    }
  }
}

interface Extent {
  readonly size: number;
  /** Whether the algorithm is the first of the suite. */
  readonly isFirst: boolean;
  /** Whether the algorithm and the size are among the few that are tested with all cases. */
  readonly isWhole: boolean;
}

function casesOf(algorithm: SuiteAlgorithm | undefined, { size, isFirst, isWhole }: Extent): ExecutorCases {
  return {
    ...fewCases,
    ...(algorithm ? referenceCases : {}),
    ...(isWhole ? manyCases : {}),
    // Members compare their calls before any algorithm moves data.
    ...(isWhole && isFirst ? disagreementCases : {}),
    ...(isWhole && size <= 3 ? crashCases : {}),
  };
}

function casesWithManyRanks(algorithm: SuiteAlgorithm | undefined, isFirst: boolean): ExecutorCases {
  return {
    ...manyRanksCases,
    ...(algorithm ? referenceCases : {}),
    ...(isFirst ? manyRanksFailureCases : {}),
  };
}

const fewCases: ExecutorCases = { ...scheduleCases, ...sequenceCases };

const manyCases: ExecutorCases = {
  ...dtypeCases,
  ...memoryCases,
  ...growthCases,
  ...waitingCases,
  ...refusalCases,
};

function declare(
  test: DeclareTest,
  title: string,
  cases: readonly (readonly [string, ExecutorCase])[],
  subject: Subject,
): void {
  let left = cases.length;
  for (const [name, run] of cases) {
    test(`${title} ${name}`, async () => {
      let isWhole = false;
      left--;
      try {
        await run(subject);
        isWhole = true;
      } finally {
        // Closes the group: a failed case may have broken it, and no case uses it after the last one.
        if (!isWhole || left === 0) await subject.renew();
      }
    });
  }
}

const usualRanks: readonly number[] = [1, 2, 3, 4, 5, 6, 7, 8];

const ownAlgorithm: SuiteAlgorithm = {
  algorithm: treeAlgorithm,
  source: {
    module: new URL(`./tree-algorithm${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url).href,
    export: 'treeAlgorithm',
  },
};
