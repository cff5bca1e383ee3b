import { CollectiveHints, CommunicationImplementation, CommunicationOptions, ReduceOp } from '@coll/core';
import { expect, it } from 'vitest';
import * as strategies from './index.js';

it('@coll/strategy also exports the options of collectives', () => {
  expect(strategies).toMatchObject({ CollectiveHints, CommunicationImplementation, CommunicationOptions, ReduceOp });
  expect(strategies.CollectiveHints).toBe(CollectiveHints);
});
