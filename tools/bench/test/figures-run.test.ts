import { expect, it } from 'vitest';
import { figureRequests } from '../src/figures-run.js';
import { peersOver } from '../src/peers/peers.js';

it('takes the figures of the docs beside all peers, among two ranks and among more than many machines have cores', () => {
  const requests = figureRequests();
  expect(requests.map(({ suites, ranks }) => `${suites} ${ranks}`)).toEqual([
    'in-process 2',
    'in-process 2',
    'gradients 2',
    'event-loop 2',
    'in-process 4',
    'gradients 4',
  ]);
  for (const { suites, peers } of requests)
    if (!suites.includes('event-loop')) expect(peers).toEqual([...peersOver['shared-memory'], 'gloo']);
});
