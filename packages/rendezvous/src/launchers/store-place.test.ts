import { expect, it } from 'vitest';
import type { Environment } from './environment.js';
import { membershipFrom } from './environment-membership.js';
import type { Membership } from './membership.js';
import { storePlace } from './store-place.js';

function placeOf(environment: Environment) {
  return storePlace(membershipFrom(environment) as Membership, environment);
}

const torchrun = { RANK: '1', WORLD_SIZE: '4', LOCAL_RANK: '1', LOCAL_WORLD_SIZE: '2', MASTER_ADDR: 'h' };
const mpirun = {
  ...{ OMPI_COMM_WORLD_RANK: '1', OMPI_COMM_WORLD_SIZE: '4', OMPI_COMM_WORLD_LOCAL_RANK: '1' },
  OMPI_COMM_WORLD_LOCAL_SIZE: '2',
};
const slurm = { SLURM_PROCID: '1', SLURM_STEP_ID: '0', SLURM_NTASKS: '2', SLURM_STEP_NODELIST: 'n[1-2]' };
const job = { JOB_COMPLETION_INDEX: '1', COLL_SIZE: '2' };

it.each<[string, Environment, { host: string | undefined; port: number }]>([
  ["torchrun's own store has the announced port", torchrun, { host: 'h', port: 19_260 }],
  ['a port above 32767 is replaced by a lower one', { ...torchrun, MASTER_PORT: '44321' }, { host: 'h', port: 13_601 }],
  ['pods have no agent that holds the port', { ...torchrun, LOCAL_RANK: '' }, { host: 'h', port: 29_500 }],
  ['members of one host meet there', { ...torchrun, LOCAL_WORLD_SIZE: '4' }, { host: '127.0.0.1', port: 19_260 }],
  ['mpirun on two hosts says nothing', mpirun, { host: undefined, port: 29_222 }],
  [
    'mpirun says where it runs itself',
    { ...mpirun, OMPI_MCA_orte_hnp_uri: '7.0;tcp://10.0.0.1,10.1.0.1:33499', PMIX_NAMESPACE: '7' },
    { host: '10.0.0.1', port: 61_495 },
  ],
  ['a job of Slurm has its port', { ...slurm, SLURM_JOB_ID: '42' }, { host: 'n1', port: 61_482 }],
  ['an IPv6 address', { ...torchrun, MASTER_ADDR: 'fd00::1' }, { host: 'fd00::1', port: 19_260 }],
  [
    'an IPv6 address without a port',
    { LWS_WORKER_INDEX: '1', LWS_LEADER_ADDRESS: 'fd00::1' },
    { host: 'fd00::1', port: 29_222 },
  ],
  ['an indexed job needs the name of its service', job, { host: undefined, port: 29_222 }],
  [
    'the pods of an indexed job meet at pod 0',
    { ...job, HOSTNAME: 'my-1-1', COLL_SERVICE: 'workers' },
    { host: 'my-1-0.workers', port: 29_222 },
  ],
  [
    'a TF_CONFIG has an address',
    { TF_CONFIG: '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}' },
    { host: 'a', port: 1 },
  ],
])('where rank 0 listens: %s', (_, environment, place) => {
  expect(placeOf(environment)).toEqual(place);
});

it('two jobs of a launcher on one host have different ports', () => {
  const portOf = (PALS_APID: string) => placeOf({ PALS_RANKID: '0', PALS_APID }).port;
  expect(portOf('one')).not.toBe(portOf('two'));
});

it.each(['train', 'train-2', undefined])('the host name %j is not that of pod 1', (HOSTNAME) => {
  const message = 'HOSTNAME must be the name of pod 1 of an indexed job, which ends in -1';
  expect(() => membershipFrom({ ...job, HOSTNAME, COLL_SERVICE: 'workers' })).toThrow(message);
});
