import { CollectiveHints, CommunicationImplementation, CommunicationOptions, ReduceOp } from '@coll/core';
import { expect, it } from 'vitest';
import * as strategies from './index.js';

it('exports the options of collectives beside the strategies', () => {
  expect(strategies).toMatchObject({ CollectiveHints, CommunicationImplementation, CommunicationOptions, ReduceOp });
  expect(strategies.CollectiveHints).toBe(CollectiveHints);
});
