import { expect, it } from 'vitest';
import { figureRequests } from '../src/figures-run.js';
import { type PeerName, peerNames, peersOver, pythonPeers } from '../src/peers/peers.js';

const python: readonly PeerName[] = pythonPeers;
const ofCommunicators = (peers: readonly PeerName[]) =>
  peers.filter((peer) => !python.includes(peer) && !peer.endsWith('nonblocking'));

it('a figures run measures all peer libraries, with two ranks and with up to eight ranks', () => {
  const requests = figureRequests();
  expect(requests.map(({ suites, ranks }) => `${suites} ${ranks}`)).toEqual([
    'strategy 2',
    'ops,runs 2',
    'in-process 2',
    'in-process 2',
    'gradients 2',
    'event-loop 2',
    'in-process 4',
    'gradients 4',
    'processes 2',
    'processes 4',
    'processes 8',
  ]);
  const peersOf = (suite: string) => requests.filter(({ suites }) => suites.join() === suite).map(({ peers }) => peers);
  for (const peers of [...peersOf('in-process'), ...peersOf('gradients')])
    expect(peers).toEqual([...ofCommunicators(peersOver['shared-memory']), 'gloo']);
  expect(peersOf('strategy')).toEqual([['mpi4py', 'torch']]);
  const [ofTwo, ofFour] = peersOf('processes');
  expect(new Set(ofTwo)).toEqual(new Set(ofCommunicators(peerNames)));
  expect(new Set(ofFour)).toEqual(new Set(ofCommunicators(peerNames).filter((peer) => peer !== 'mpich-tcp')));
});
