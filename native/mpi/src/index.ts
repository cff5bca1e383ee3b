export { MpiCommunicator } from './mpi-communicator.js';
export { type MpiExplanation, type OpenedMpiGroup, openMpiGroup } from './open-mpi-group.js';
export type { MpiOptions } from './options.js';
export { mpi } from './plugin.js';
export { type MpiProbe, probe } from './start-mpi.js';
