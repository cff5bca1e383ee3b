import { jsEngine } from '@coll/core';
import { algorithmSuite, controllerGroup, crossDeviceOpsSuite, executorSuite } from '@coll/testing';
import { describe, it } from 'vitest';
import { drawnSuite } from '../../tools/tests/drawn.ts';
import { tree, treeAlgorithm } from './tree.ts';

const test = (name: string, run: () => void | Promise<void>) => it(name, run, 60_000);

algorithmSuite({ test: it, describe, algorithm: treeAlgorithm });
executorSuite(
  drawnSuite({
    test,
    describe,
    name: 'the js engine',
    membersOf: () => 1,
    open: controllerGroup((algorithm, size) => jsEngine.communicator(size, algorithm)),
    algorithms: [{ algorithm: treeAlgorithm }],
    ranks: [1, 2, 3, 4, 7],
  }),
);
crossDeviceOpsSuite({ test, describe, plugin: tree });
